# Writes answers.json: what Jinja2 makes of templates. Run it with Jinja2 3.1.6:
#     python3 answers.py
# "batch" of each row says what this engine does: it stays as it is in answers.json, and a new
# row is expected to be equal, or refused when it is rendered if Jinja2 has an error.
import json

from jinja2 import StrictUndefined, Template

VARS = {
    "text": "First line.\n\tSecond <b> & 'third'\n\nlast é日\U0001f600",
    "n": 7, "neg": -13, "f": 2.5, "whole": 3.0, "big": 12345678, "zero": 0, "yes": True, "no": False, "nothing": None,
    "xs": [5, 3, 9, 3], "words": ["pear", "Apple", "fig", "apple"], "empty": [],
    "d": {"b": 2, "a": [1, 2.0, None, True, "é'\""], "C": {"x": {"y": 1}}},
    "rows": [{"name": "x", "n": 3, "tags": ["p", "q"]}, {"name": "Y", "n": 1, "tags": []}, {"name": "z", "n": 3, "tags": ["r"]}],
    "pairs": [["k", 1], ["l", 2]],
    "tree": [{"v": 1, "kids": [{"v": 2, "kids": []}, {"v": 3, "kids": [{"v": 4, "kids": []}]}]}, {"v": 5, "kids": []}],
}

# One template a line, or several lines between lines of dashes.
TEMPLATES = open(__file__.replace(".py", ".txt"), encoding="utf-8").read()


def want(template):
    try:
        return {"text": Template(template, undefined=StrictUndefined).render(**json.loads(json.dumps(VARS)))}
    except Exception as e:
        return {"error": type(e).__name__ + ": " + str(e)}


def row(template):
    answer = want(template)
    return {"template": template, "want": answer, "batch": known.get(template) or ("equal" if "text" in answer else "refused at render")}


ANSWERS = __file__.replace(".py", ".json")
known = {r["template"]: r.get("batch") for r in json.load(open(ANSWERS, encoding="utf-8"))["rows"]}
lines, *blocks = TEMPLATES.split("\n-----\n")
rows = [row(t) for t in lines.split("\n") + blocks]
with open(ANSWERS, "w", encoding="utf-8") as f:
    f.write('{"vars": ' + json.dumps(VARS) + ', "rows": [\n' + ",\n".join(json.dumps(r) for r in rows) + "\n]}\n")
