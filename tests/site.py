"""A small web server on this machine for tests of what is fetched."""

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote


@contextmanager
def serving(site):
    """An http server of the folder `site` on 127.0.0.1, its address and the paths it was asked for.

    /to?URL redirects, /loop for ever, /short breaks off.
    """
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            path, _, query = self.path.partition("?")
            path = unquote(path)
            if path in ("/to", "/loop"):
                self.send_response(302)
                self.send_header("Location", query or "/loop")
                self.end_headers()
            elif (site / path[1:]).is_file() or path == "/short":
                content = b"" if path == "/short" else (site / path[1:]).read_bytes()
                self.send_response(200)
                self.send_header("Content-Length", str(len(content) or 10))
                self.end_headers()
                self.wfile.write(content)
            else:
                self.send_error(404)

        def log_message(self, *_):
            pass

    running = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{running.server_port}", asked
    running.shutdown()
    thread.join()
    running.server_close()
