"""The commands of `clinometer` by name; their list imports none of them."""

from __future__ import annotations

from collections.abc import Mapping

CommandTable = Mapping[str, tuple["str | CommandTable", str]]
"""By name: `module:function` below clinometer.cli, or the commands of a group; then the line in the
list, which must not import the command."""

COMMANDS: CommandTable = {
    "audit": (
        "audit:audit_command",
        "Score models in every context, and measure their risks",
    ),
    "report": (
        "report:report_command",
        "Write a page about runs, its tables or its charts",
    ),
    "view": ("report:view_command", "Explore runs in a browser, down to single words"),
    "compare": (
        "compare:compare_command",
        "Compare runs group by group, context by context",
    ),
    "gate": (
        "gate:gate_command",
        "Decide whether a run passes its limits and baseline",
    ),
    "plan": (
        "plan:plan_command",
        "Plan an audit: contexts, time and cost; write a protocol",
    ),
    "import": (
        {
            "table": (
                "imports:table_command",
                "Any table of preferences; no model is needed",
            ),
            "lm-eval": ("imports:lm_eval_command", "Samples of lm-evaluation-harness"),
            "inspect": (
                "imports:inspect_command",
                "A log of Inspect: epochs are replies",
            ),
            "replies": (
                "imports:replies_command",
                "Any table of replies: lean, swing and dice",
            ),
            "decisions": (
                "imports:decisions_command",
                "Decisions about people: rates by group",
            ),
            "labels": (
                "labels:labels_command",
                "People's labels, to correct a run's judge",
            ),
        },
        "Measure what others produced: tables, answers, logs, labels",
    ),
    "export": (
        {
            "hugging-face": (
                "hugging_face:hugging_face_command",
                "Risks in a model card",
            ),
            "labels": (
                "labels:export_labels_command",
                "Replies of a run, for people to label",
            ),
        },
        "Write runs for other tools and for people",
    ),
    "mine": ("mine:mine_command", "Mine contexts from a corpus, weighted by frequency"),
    "reliability": (
        {
            "audit": (
                "reliability:audit_command",
                "From a benchmark's files to scores and a report",
            ),
            "annotate": (
                "annotate:annotate_command",
                "Let people judge statements in a browser",
            ),
            "validate": (
                "validate:validate_command",
                "Do people agree, and a score with them?",
            ),
        },
        "How reliable are the statements of a bias benchmark? (COBIAS)",
    ),
    "study": (
        {
            "table": (
                "study:table_command",
                "Risks of models, as in Table 1, 2, 3 or 5",
            ),
            "sources": (
                "study:sources_command",
                "Contexts from several sources (Table 4)",
            ),
            "figures": (
                "study:figures_command",
                "Leaning, spread, answers (Figures 5, 10, 11)",
            ),
            "toxicity": (
                "study:toxicity_command",
                "Fine-tuning on toxic text (Figure 6, D.4)",
            ),
            "size": (
                "study:size_command",
                "Trend of the risks with model size (Figure 7)",
            ),
            "alignment": (
                "study:alignment_command",
                "A base model and aligned ones (Figure 8)",
            ),
            "fixes": (
                "study:fixes_command",
                "Did a fix remove the lean, or move it? With controls",
            ),
            "factors": (
                "study:factors_command",
                "Risk against pay, education, share of women",
            ),
            "sensitivity": (
                "study:sensitivity_command",
                "Every defensible analysis choice",
            ),
            "knowledge": (
                "study:knowledge_command",
                "Facts instead of stereotypes (E.1, E.2)",
            ),
            "versions": (
                "study:versions_command",
                "How many, at what temperature (COBIAS, D)",
            ),
        },
        "The papers' experiments on models of your choice",
    ),
    "list": (
        "lists:list_command",
        "List topics, context sets, models and sample files",
    ),
    "doctor": (
        "doctor:doctor_command",
        "Show what is installed, what is missing, how to get it",
    ),
}
