"""A context set with Croissant metadata (MLCommons), so that it can be found and loaded."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from clinometer.contexts import ContextSet
from clinometer.errors import SettingsError
from clinometer.models.catalog.spec import folder_name
from clinometer.report.export import write_files

VERSION = "http://mlcommons.org/croissant/1.0"
#: Terms of the vocabulary, as version 1.0 of the format declares them.
CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "sc": "https://schema.org/",
    **{
        term: f"cr:{term}"
        for term in (
            *("citeAs", "column", "equivalentProperty", "extract", "field", "fileProperty"),
            *("fileObject", "fileSet", "format", "includes", "isLiveDataset", "jsonPath", "key"),
            *("md5", "parentField", "path", "recordSet", "references", "regex", "repeated"),
            *("replace", "samplingRate", "separator", "source", "subField", "transform"),
        )
    },
}


def write_croissant(
    contexts: ContextSet, folder: Path, *, licence: str, url: str, published: str, cite: str = ""
) -> list[Path]:
    """Write the set as CSV with its sidecar, and croissant.json that describes it.

    Args:
        licence: of the set, an SPDX name or an address; what a corpus allows is not for us to
            guess.
        url: where the set will be found.
        published: date of publication, YYYY-MM-DD.
        cite: how to cite it.
    """
    if not licence.strip():
        raise SettingsError("licence: expected an SPDX name or an address, found nothing")
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{folder_name(contexts.name)}.csv"
    contexts.save(file)
    described = to_croissant(contexts, file, licence=licence, url=url, published=published)
    if cite:
        described["citeAs"] = cite
    text = json.dumps(described, indent=2, ensure_ascii=False)
    write_files({folder / "croissant.json": f"{text}\n".encode()})
    return [file, folder / "croissant.json"]


def to_croissant(
    contexts: ContextSet, file: Path, *, licence: str, url: str, published: str
) -> dict[str, Any]:
    """The metadata of the set in `file`."""
    about = contexts.metadata
    columns = {"template": "sc:Text", "count": "sc:Float"}
    columns |= dict.fromkeys(contexts.extra, "sc:Text")
    origin = about.corpus or about.source or ""
    described = (
        f"{len(contexts):,} sentence templates with a slot [X] for a group and a slot [Y] for a "
        f"word of an attribute, with how often each was found; {contexts.n_eff:,.1f} effective."
    )
    metadata: dict[str, Any] = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": VERSION,
        "name": folder_name(contexts.name),
        "description": described + (f" Mined from {origin}." if origin else ""),
        "license": licence,
        "url": url,
        "datePublished": published,
        "version": f"1.0.0+{contexts.sha256[:12]}",
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": "contexts-csv",
                "name": file.name,
                "contentUrl": file.name,
                "encodingFormat": "text/csv",
                "sha256": hashlib.sha256(file.read_bytes()).hexdigest(),
            }
        ],
        "recordSet": [
            {
                "@type": "cr:RecordSet",
                "@id": "contexts",
                "name": "contexts",
                "field": [_field(name, kind) for name, kind in columns.items()],
            }
        ],
        "rai:dataCollection": about.strategy or about.command or about.note or "not recorded",
        "rai:dataLimitations": "Templates carry the wording of their source; risks measured in "
        "them are about contexts of this kind.",
    }
    if about.language:
        metadata["inLanguage"] = about.language
    return metadata


def _field(name: str, kind: str) -> dict[str, Any]:
    return {
        "@type": "cr:Field",
        "@id": f"contexts/{name}",
        "name": name,
        "dataType": kind,
        "source": {"fileObject": {"@id": "contexts-csv"}, "extract": {"column": name}},
    }
