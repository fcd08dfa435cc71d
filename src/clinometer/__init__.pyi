"""The public names and the modules they come from: __init__.py reads this list."""

from clinometer.bridges.decisions import Decisions as Decisions
from clinometer.bridges.decisions import import_decisions as import_decisions
from clinometer.bridges.inspect import import_inspect as import_inspect
from clinometer.bridges.lm_eval import import_lm_eval as import_lm_eval
from clinometer.bridges.replies import import_replies as import_replies
from clinometer.contexts import ContextSet as ContextSet
from clinometer.contexts import load_contexts as load_contexts
from clinometer.contexts.mining import mine as mine
from clinometer.gate.assertion import assert_not_worse as assert_not_worse
from clinometer.gate.decision import GateDecision as GateDecision
from clinometer.gate.decision import decide as decide
from clinometer.measure import Comparison as Comparison
from clinometer.measure import Estimate as Estimate
from clinometer.measure import Preferences as Preferences
from clinometer.measure import RiskReport as RiskReport
from clinometer.measure import decompose as decompose
from clinometer.measure import estimate_risks as estimate_risks
from clinometer.measure.components import Components as Components
from clinometer.measure.leaning import GroupLean as GroupLean
from clinometer.measure.planning import Spread as Spread
from clinometer.measure.planning import contexts_for_precision as contexts_for_precision
from clinometer.measure.repetitions import plan_replies as plan_replies
from clinometer.reliability import ReliabilityRun as ReliabilityRun
from clinometer.reliability import ReliabilitySettings as ReliabilitySettings
from clinometer.reliability import Statement as Statement
from clinometer.reliability import load_statements as load_statements
from clinometer.reliability import read_variants as read_variants
from clinometer.reliability import score_reliability as score_reliability
from clinometer.report import write_report as write_report
from clinometer.runs import AuditSettings as AuditSettings
from clinometer.runs import Run as Run
from clinometer.runs import read_table as read_table
from clinometer.runs import risks as risks
from clinometer.runs.audit import audit as audit
from clinometer.runs.compare import compare as compare
from clinometer.topics import Topic as Topic
from clinometer.topics import builtin_topics as builtin_topics
from clinometer.topics import load_topic as load_topic

__version__: str
__all__: list[str]
