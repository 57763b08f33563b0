"""What the documentation of others asks of a file, as JSON schemas."""

TEXT, NUMBER, WHOLE, FLAG = {"type": "string"}, {"type": "number"}, {"type": "integer"}, {"type": "boolean"}
MOMENT = {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$"}


def thing(required, **properties):
    """An object with these properties, and any others."""
    return {"type": "object", "required": required.split(), "properties": properties}


def array(items, **limits):
    return {"type": "array", "items": items, **limits}


# https://labelstud.io/guide/task_format and /tags/choices
RESULT = thing(
    "from_name to_name type value",
    id=TEXT,
    from_name=TEXT,
    to_name=TEXT,
    type={"const": "choices"},
    value=thing("choices", choices=array(TEXT, minItems=1)),
)
ANNOTATION = thing(
    "result was_cancelled",
    result=array(RESULT),
    was_cancelled=FLAG,
    ground_truth=FLAG,
    created_at=MOMENT,
    updated_at=MOMENT,
    lead_time=NUMBER,
    created_username=TEXT,
)
PREDICTION = thing("result model_version", result=array(RESULT, minItems=1), model_version=TEXT, score=NUMBER)
LABEL_STUDIO = array(
    thing(
        "data annotations predictions",
        id=WHOLE,
        data=thing("image", image=TEXT),
        annotations=array(ANNOTATION),
        predictions=array(PREDICTION),
        meta={"type": "object"},
    )
)

# https://docs.voxel51.com/user_guide/import_datasets.html: FiftyOneDataset in the form that is read without a version,
# and FiftyOneImageClassificationDataset
CLASSIFICATION = {
    "anyOf": [
        {"type": "null"},
        thing("_cls label", _cls={"const": "Classification"}, label=TEXT, confidence={"type": ["number", "null"]}),
    ]
}
FIFTYONE_SAMPLES = thing(
    "samples",
    samples=array(
        {
            **thing("filepath tags", filepath=TEXT, tags=array(TEXT)),
            "properties": {"ground_truth": CLASSIFICATION, "prediction": CLASSIFICATION},
            "propertyNames": {"not": {"pattern": "^_"}},
        }
    ),
)
FIFTYONE_LABELS = thing(
    "labels",
    classes=array(TEXT),
    labels={"type": "object", "additionalProperties": {"type": ["integer", "string", "null"]}},
)

# https://cocodataset.org/#format-data, with what belongs to boxes left out
COCO = thing(
    "images annotations categories",
    images=array(thing("id file_name", id=WHOLE, file_name=TEXT)),
    annotations=array(thing("id image_id category_id", id=WHOLE, image_id=WHOLE, category_id=WHOLE)),
    categories=array(thing("id name", id=WHOLE, name=TEXT)),
)
