"""The door: who may ask this server for anything, the sign-in page, and the account's own page. HTTP, not Streamlit."""
