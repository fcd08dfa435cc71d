"""Mutations of the guards: checks, escapes, limits and writes to the disk that tests of security notice."""

from __future__ import annotations

from benchmarks.mutation import Mutation

# The tests.
FILES = "tests/security/test_files.py"
SERVERS = "tests/security/test_servers.py"
SCREEN = "tests/security/test_terminal.py"
FOLDERS = "tests/security/test_model_folders.py"
NAMES = "tests/security/test_names.py"
INPUTS = "tests/security/test_inputs.py"
OUTPUTS = "tests/security/test_outputs.py"
ATOMIC = "tests/storage/test_atomic.py"
VIEWER = "tests/web/test_viewer.py"
ANNOTATION = "tests/web/annotation/test_pages.py"
TASK = "tests/web/annotation/test_store.py"
ADDRESSES = "tests/models/client/test_address.py"
ADAPTERS = "tests/models/local/test_load_adapters.py"
IDENTITY = "tests/models/catalog/test_weights.py"
PLANS = "tests/runs/test_protocol.py"
GATE = "tests/gate/test_decision.py"
HARNESS = "tests/bridges/lm_eval/test_read.py"

# The source.
UNTRUSTED = "storage/untrusted.py"
RESPONSE = "models/client/response.py"
ADDRESS = "models/client/address.py"
USAGE = "models/client/usage.py"
REPLY = "models/server/reply.py"
SERVER_WORDS = "models/server/words.py"
LOADER = "models/catalog/pretrained.py"
REVISIONS = "models/catalog/revisions.py"
PLAN = "runs/protocol.py"
LOG = "bridges/lm_eval.py"
SILENCE = "gate/silence.py"
GATED_ROW = "gate/row.py"

GUARDS = (
    # files from strangers
    Mutation("untrusted", UNTRUSTED, "DEPTH = 64", "DEPTH = 10**6", FILES, "nesting"),
    Mutation("untrusted", UNTRUSTED, "if not stat.S_ISREG(mode):", "if False:", FILES, "pipe"),
    Mutation("untrusted", UNTRUSTED, "if self._remaining < 0:", "if False:", FILES, "lines_have"),
    # formulas
    Mutation("spreadsheet", "storage/rows.py", 'return "\'" + value', "return value", OUTPUTS, "formula"),
    Mutation("spreadsheet", "storage/rows.py", "[=+", "[+", OUTPUTS, "formula"),
    Mutation("spreadsheet", "storage/rows.py", "@\\t", "\\t", OUTPUTS, "formula"),
    # terminal and pages
    Mutation("visible", "display/text.py", "return CONTROLS.sub(lambda m: f\"[U+{ord(m[0]):04X}]\", str(text))", "return str(text)", SCREEN, "names"),
    Mutation("visible", "display/text.py", "\\x0b-\\x1f", "\\x0b-\\x1a", SCREEN, "names"),
    Mutation("visible", "display/text.py", "\\u2028-\\u202e", "\\u2028-\\u2029", SCREEN, "names"),
    # forms
    Mutation("forms", "web/app.py", 'b"transfer-encoding" in headers or ', "", ANNOTATION, "large_body"),
    Mutation("forms", "web/app.py", "int(length) > MOST_FORM", "False", ANNOTATION, "large_body"),
    Mutation("forms", "web/app.py", "int(length) and kind != _FORM", "False", ANNOTATION, "large_body"),
    # who may come in
    Mutation("pages", "web/app.py", '"127.0.0.1", "[::1]", host]', '"*"]', ANNOTATION, "other_hosts"),
    Mutation("pages", "web/app.py", "if hmac.compare_digest(cookie_token.encode(), token.encode()):", "if True:", "tests/web", "token"),
    Mutation("pages", "web/app.py", "script-src 'self'", "script-src *", "tests/web", "header or policy"),
    # paths
    Mutation("paths", "web/runs_index.py", "return path.resolve().is_relative_to(self.root)", "return True", VIEWER, "links"),
    Mutation("paths", "runs/folder/record.py", "if name not in builtin_topics():", "if False:", "tests/security/test_viewer.py", "paths_opened and topic"),
    Mutation("paths", "runs/folder/partial.py", "if record.contexts.name in builtin_contexts():", "if True:", "tests/security/test_viewer.py", "paths_opened and contexts"),
    # forms of other pages
    Mutation("origin", "web/annotation/pages.py", 'is_ours = site in ("same-origin", "none")', "is_ours = True", ANNOTATION, "another_page"),
    Mutation("origin", "web/annotation/pages.py", 'is_ours = origin is None or urlsplit(origin).netloc == host', "is_ours = True", ANNOTATION, "another_page"),
    Mutation("origin", "web/annotation/pages.py", "    if not is_ours:", "    if False:", ANNOTATION, "another_page"),
    # annotators
    Mutation("annotators", "web/annotation/store.py", "if not _TOKEN.fullmatch(token):", "if False:", ANNOTATION, "wrong_token"),
    Mutation("annotators", "web/annotation/pages.py", "        if annotator.state != ACTIVE:\n            return", "        if False:\n            return", ANNOTATION, "warning_comes_first"),
    Mutation("annotators", "web/annotation/store.py", "if connection.execute(query, (annotator.number,)).fetchone() != (ACTIVE,):", "if False:", ANNOTATION, "stop_at_any_time"),
    # scripts
    Mutation("scripts", "report/document.py", "autoescape=True", "autoescape=False", VIEWER, "hostile"),
    Mutation("scripts", "report/document.py", '"visible": visible,', '"visible": str,', VIEWER, "hostile"),
    Mutation("scripts", "web/annotation/pages.py", '{"html": False}', '{"html": True}', TASK, "guidelines"),
    # servers that lie
    Mutation("possible", SERVER_WORDS, "if most > 1 + SLACK:", "if False:", SERVERS, "lies"),
    Mutation("possible", SERVER_WORDS, "np.ptp(finite) == 0", "False", SERVERS, "distribution or lies"),
    Mutation("possible", REPLY, "or number > _ROUNDING_ABOVE_ZERO", "", SERVERS, "lies"),
    # servers that flood
    Mutation("replies", RESPONSE, "if len(body) > MOST_REPLY:", "if False:", SERVERS, "flood"),
    Mutation("replies", RESPONSE, 'if response.headers.get("content-encoding", "identity") != "identity":', "if False:", SERVERS, "compressed_reply"),
    Mutation("replies", RESPONSE, "_CODE.fullmatch(code)", "True", SERVERS, "sentence"),
    # keys
    Mutation("keys", ADDRESS, 'return "Key(…)"', "return str(self._secrets)", NAMES, "key_goes"),
    Mutation("keys", ADDRESS, "if provider.owns(host):", "if True:", NAMES, "key_goes"),
    Mutation("keys", ADDRESS, "if parts.username or parts.password or parts.query:", "if False:", ADDRESSES, "address_that_is_none"),
    # damage
    Mutation("damage", "storage/parquet_parts.py", "is_sound = digest == digest_of(data)", "is_sound = True", "tests/storage/test_parquet_parts.py"),
    Mutation("damage", "storage/result_folder.py", "if digest_of(data) != record.tables.get(name):", "if False:", "tests/runs/test_audit_resume.py", "bit_flip_in_a_table"),
    # work that is resumed
    Mutation("resumed", "storage/resumable.py", "changed = differences(earlier, identity)", "changed = []", "tests/storage/test_resumable.py", "same_work"),
    Mutation("resumed", "storage/lines.py", "                    os.fsync(stream.fileno())\n", "", "tests/storage/test_lines.py", "row"),
    Mutation("resumed", "storage/lines.py", "stream.truncate(len(whole_lines))", "pass", "tests/storage/test_lines.py", "row"),
    # files on the disk
    Mutation("atomic", "storage/atomic.py", "os.fsync(stream.fileno())", "pass", ATOMIC),
    Mutation("atomic", "storage/atomic.py", "lock.acquire(timeout=0)", "lock", "tests/studies/test_framework.py", "second_is_refused"),
    Mutation("atomic", "storage/atomic.py", "            temporary.unlink()", "            pass", ATOMIC),
    # models of strangers
    Mutation("weights", "models/catalog/pretrained.py", "trust_remote_code=trust_remote_code", "trust_remote_code=True", FOLDERS, "code"),
    Mutation("weights", "models/catalog/pretrained.py", "None if allow_pickle else True", "None", FOLDERS, "pickled"),
    Mutation("weights", "models/catalog/pretrained.py", "if 8 + length + max(ends, default=0) != size:", "if False:", FOLDERS, "cut_short"),
    # what files name: code, and addresses
    Mutation("code", UNTRUSTED, "if name not in self.code:", "if False:", NAMES, "project_only or no_flag"),
    Mutation("code", UNTRUSTED, "        _check_own(module, where=where)\n", "", NAMES, "project_only"),
    Mutation("code", UNTRUSTED, 'getattr(function, "__module__", None) != module', "False", NAMES, "project_only"),
    Mutation("addresses", UNTRUSTED, "if name not in self.models and not here:", "if False:", NAMES, "others_asked"),
    Mutation("addresses", ADDRESS, 'if scheme != "https" and not is_loopback(host):', "if False:", NAMES, "key_goes"),
    Mutation("addresses", ADDRESS, "if not (secret.isascii() and secret.isprintable()):", "if False:", NAMES, "other_characters"),
    # which weights they are
    Mutation("identity", REVISIONS, "if [_state(folder) for folder in folders] != before:", "if False:", IDENTITY, "while_it_is_read"),
    Mutation("identity", REVISIONS, "names |= {shard for shard in _shards(index) if (folder / shard).is_file()}", "pass", IDENTITY, "any_byte"),
    Mutation("identity", REVISIONS, 'if shard.is_absolute() or ".." in shard.parts:', "if False:", IDENTITY, "outside"),
    Mutation("adapters", LOADER, "if kind not in _MERGED:", "if False:", ADAPTERS, "cannot_be_merged"),
    Mutation("adapters", LOADER, "if value and key not in _UNDERSTOOD", "if False", ADAPTERS, "cannot_be_merged"),
    Mutation("adapters", LOADER, "in _FROM_BASE and not exact:", "in _FROM_BASE and False:", ADAPTERS, "needs_float32"),
    # plans and gates
    Mutation("plans", PLAN, "if planned[name] != done[name]:", "if False:", PLANS, "not_as_planned"),
    Mutation("plans", PLAN, "elif _labels_sha256(audit.source) != self.labels_sha256:", "elif False:", PLANS, "labels"),
    Mutation("plans", PLAN, "        if before is not None:", "        if False:", PLANS, "another_plan"),
    Mutation("gates", SILENCE, "        if self.groups:", "        if False:", GATE, "does_not_answer"),
    Mutation("gates", SILENCE, "if high >= row.margin:", "if False:", GATE, "does_not_answer"),
    Mutation("gates", GATED_ROW, "    if high < margin:", "    if True:", GATE, "margin"),
    # numbers that cannot be
    Mutation("imports", LOG, "if total > 1 + _ROUNDING:", "if False:", HARNESS, "cannot_be"),
    # what has no end, and what is paid for
    Mutation("endless", UNTRUSTED, 'if isinstance(item, str) and "\\0" in item:', "if False:", FILES, "NUL or no_file_is_called"),
    Mutation("endless", LOADER, "limit is not None and not -1 <= value <= limit:", "False:", INPUTS, "odd_model_folder_is_one_line"),
    Mutation("endless", REPLY, "if any(len(text) > LONGEST_TOKEN * (tokens + 1) for text in texts):", "if False:", INPUTS, "no_longer_than"),
    Mutation("paid", USAGE, "0 <= count <= _MAX_TOKENS", "0 <= count", INPUTS, "count_of_tokens"),
    Mutation("paid", USAGE, "type(count) is int and 0 <= count", "type(count) is int and count", INPUTS, "count_of_tokens"),
    Mutation("paid", "storage/reply_log.py", "is_count = type(count) is int and 0 <= count < 1 << 63", "is_count = True", "tests/storage/test_reply_log.py", "used"),
    # what is written over
    Mutation("outputs", "storage/atomic.py", "if _is_of_a_run(target):", "if False:", OUTPUTS, "did_not_write or not_replaced"),
    Mutation("outputs", "storage/atomic.py", "if has_content and _kind(target) != _kind(temporary):", "if False:", OUTPUTS, "did_not_write"),
    Mutation("outputs", "storage/atomic.py", "if path.exists() and not path.is_file() and not path.is_dir():", "if False:", OUTPUTS, "pipe"),
)  # fmt: skip
