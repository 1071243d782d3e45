"""Pack the finished site: one style sheet, one script, and fonts with only the characters that its pages use."""

from __future__ import annotations

import base64
import hashlib
import html
import io
import logging
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import tinycss2
from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont
from fontTools.varLib import instancer
from sphinxcontrib import katex

MODULES = Path(__file__).resolve().parent.parent / "node_modules"
KATEX = MODULES / "katex" / "dist"
# In the order of the cascade, under _static; what the theme would load one by one.
STYLES = [
    "basic.css",
    "styles/pydata-sphinx-theme.css",
    "pygments.css",
    "styles/sphinx-book-theme.css",
    "copybutton.css",
    "mystnb.*.css",
    "exercise.css",
    "katex-math.css",
]

SCRIPTS = [
    "documentation_options.js",
    "doctools.js",
    "sphinx_highlight.js",
    "clipboard.min.js",
    "copybutton.js",
    "scripts/sphinx-book-theme.js",
    "scripts/bootstrap.js",
    "scripts/pydata-sphinx-theme.js",
]
UNUSED = ["vendor", "styles", "scripts", "locales", "images"]
ICON = re.compile(r"fa[bsr]?(-.*)?")  # a class of Font Awesome; icons.css draws the few that there are
INLINE = 4000  # bytes: a font up to this size costs less inside the style sheet than by a request of its own
AT_ONCE = {"KaTeX_Main-Regular", "KaTeX_Math-Italic"}  # on nearly every page: inside it, so that no formula moves
ASCII = {chr(code) for code in range(32, 127)}
WEIGHTS = (400, 700)  # all that course.css asks for
logging.getLogger("fontTools").setLevel(logging.WARNING)  # it would report each step


def pack(static: Path, pages: Iterable[Path], styles: Iterable[str], scripts: Iterable[str]) -> None:
    """Write ``site.css``, ``site.js`` and ``fonts/``, remove what they replace, and tell the pages their version.

    Parameters
    ----------
    static : Path
        The site's ``_static``.
    pages : iterable of Path
        All HTML pages. Rules for classes and ids that stand nowhere on them or in the script are left out.
    styles, scripts : iterable of str
        The site's own files in it; its styles come after the theme's, its scripts before.
    """
    texts = {page: page.read_text(encoding="utf-8") for page in pages}
    # Ours first: where storage is switched off, the theme's script raises, and nothing after it would run.
    script = ";\n".join((static / name).read_text(encoding="utf-8") for name in [*scripts, *SCRIPTS])
    everything = "\n".join(texts.values())
    words = set(re.findall(r"[\w-]+", everything + script))
    plain = {word for word in words if not ICON.fullmatch(word)}
    formulas = re.findall(r"<m[inos]\b[^>]*>([^<]*)<|<mtext>([^<]*)<", everything)
    in_text, in_formulas = (set(html.unescape(text)) for text in (everything, "".join(map("".join, formulas))))

    rules, faces = [], []
    for name in [*STYLES, "katex", *styles]:
        path = KATEX / "katex.min.css" if name == "katex" else next(static.glob(name))
        found = tinycss2.parse_stylesheet(path.read_text(encoding="utf-8"), skip_comments=True, skip_whitespace=True)
        rules += prune(found, words if name in styles else plain)
        faces += [(rule, in_formulas if name == "katex" else in_text | ASCII) for rule in found if is_face(rule)]
    style = "".join(rules)
    files: dict[str, bytes] = {}
    style = "".join(filter(None, (face(rule, characters, style, files) for rule, characters in faces))) + style

    digest = hashlib.sha256(b"".join([style.encode(), script.encode(), *files.values()])).hexdigest()[:10]
    for name in UNUSED:
        shutil.rmtree(static / name, ignore_errors=True)
    for name in [*STYLES, *SCRIPTS, *styles, *scripts]:
        for path in static.glob(name):
            path.unlink()
    (static / "site.css").write_text(style.replace(".woff2)", f".woff2?v={digest})"), encoding="utf-8")
    (static / "site.js").write_text(script, encoding="utf-8")
    shutil.rmtree(static / "fonts", ignore_errors=True)
    (static / "fonts").mkdir()
    for name, data in files.items():
        (static / "fonts" / name).write_bytes(data)
    for page, text in texts.items():
        page.write_text(re.sub(r'(_static/(?:site|fonts/)[^"?]+)(?:\?v=\w+)?"', rf'\1?v={digest}"', text), "utf-8")


def prune(rules: Iterable[tinycss2.ast.Node], words: set[str]) -> Iterator[str]:
    """Give the text of the rules that can apply where only these classes and ids occur."""
    for rule in rules:
        if rule.type == "qualified-rule":
            selectors = [tinycss2.serialize(one).strip() for one in alternatives(rule.prelude) if names(one) <= words]
            if selectors:
                yield f"{','.join(selectors)}{{{tinycss2.serialize(rule.content).strip()}}}"
        elif rule.type == "at-rule" and rule.content and rule.lower_at_keyword in {"media", "supports", "container"}:
            inner = tinycss2.parse_rule_list(rule.content, skip_comments=True, skip_whitespace=True)
            if kept := "".join(prune(inner, words)):
                yield f"@{rule.at_keyword}{tinycss2.serialize(rule.prelude)}{{{kept}}}"
        elif rule.type == "at-rule" and rule.lower_at_keyword == "keyframes":
            yield rule.serialize()


def alternatives(prelude: list[tinycss2.ast.Node]) -> list[list[tinycss2.ast.Node]]:
    """Split a list of selectors at its commas."""
    found: list[list[tinycss2.ast.Node]] = [[]]
    for token in prelude:
        if token == ",":
            found.append([])
        else:
            found[-1].append(token)
    return found


def names(selector: list[tinycss2.ast.Node]) -> set[str]:
    """Give the classes and ids without which a selector fits nothing."""
    classes = {token.value for dot, token in pairwise(selector) if dot == "." and token.type == "ident"}
    return classes | {token.value for token in selector if token.type == "hash"}


def is_face(rule: tinycss2.ast.Node) -> bool:
    """Tell whether a rule declares a font."""
    return rule.type == "at-rule" and rule.lower_at_keyword == "font-face"


def face(rule: tinycss2.ast.Node, characters: set[str], style: str, files: dict[str, bytes]) -> str | None:
    """Give a font's rule with the font cut down, inside it or among ``files``; nothing for a font that is not used."""
    text = tinycss2.serialize(rule.content)
    family = re.search(r"font-family:\s*[\"']?([^;\"']+)", text)[1].strip()
    source = re.search(r"url\(fonts/([\w-]+)\.woff2\)", text)
    path = source and next(MODULES.glob(f"*/*/files/{source[1]}.woff2"), KATEX / "fonts" / f"{source[1]}.woff2")
    if not path or not path.exists() or family not in style:
        return None
    data = subset(path, frozenset(characters))
    address = f"fonts/{path.name}"
    if len(data) <= INLINE or path.stem in AT_ONCE:
        address = "data:font/woff2;base64," + base64.b64encode(data).decode()
    else:
        files[path.name] = data
    text = re.sub(r"src:[^;}]*", f'src:url({address}) format("woff2")', text)
    return f"@font-face{{{text.strip()}}}"


@cache
def subset(path: Path, characters: frozenset[str]) -> bytes:
    """Cut a font down to some characters, and a variable one to our weights; gives it as woff2."""
    font = _open(path)
    options = Options(hinting=False, layout_features=["ccmp", "kern", "liga", "locl", "mark", "mkmk"])
    cutter = Subsetter(options)
    cutter.populate(unicodes=map(ord, characters))
    cutter.subset(font)
    if "fvar" in font:
        font = instancer.instantiateVariableFont(font, {"wght": WEIGHTS})
    return _save(font, "woff2")


def still(path: Path, weight: int) -> bytes:
    """Give one weight of a variable font as TrueType, for programs that know no more."""
    return _save(instancer.instantiateVariableFont(_open(path), {"wght": weight}), None)


def _open(path: Path) -> TTFont:
    bring_brotli()
    return TTFont(path)


def _save(font: TTFont, flavor: str | None) -> bytes:
    font.flavor = flavor
    buffer = io.BytesIO()
    font.save(buffer)
    return buffer.getvalue()


def bring_brotli() -> None:
    """Let fontTools pack woff2 with the brotli of the bundled Node, where Python has none."""
    try:
        import brotli  # noqa: F401, PLC0415
    except ImportError:
        module = ModuleType("brotli")
        module.MODE_FONT = 2
        module.compress = partial(_node, "z.brotliCompressSync(data, {params: {[z.constants.BROTLI_PARAM_MODE]: 2}})")
        module.decompress = partial(_node, "z.brotliDecompressSync(data)")
        sys.modules["brotli"] = module


def _node(expression: str, data: bytes, mode: object = None) -> bytes:
    script = f"const z = require('zlib'), data = require('fs').readFileSync(0); process.stdout.write({expression})"
    done = subprocess.run([katex.NODEJS_BINARY, "-e", script], input=bytes(data), capture_output=True, check=True)
    return done.stdout
