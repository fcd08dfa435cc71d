"""The public names and the modules they come from: __init__.py reads this list."""

from clinometer.contexts import ContextSet as ContextSet
from clinometer.contexts import load_contexts as load_contexts
from clinometer.contexts.mining import mine as mine
from clinometer.gate.decision import assert_not_worse as assert_not_worse
from clinometer.measure import Comparison as Comparison
from clinometer.measure import Estimate as Estimate
from clinometer.measure import Preferences as Preferences
from clinometer.measure import RiskReport as RiskReport
from clinometer.measure import decompose as decompose
from clinometer.measure import estimate_risks as estimate_risks
from clinometer.reliability import ReliabilityRun as ReliabilityRun
from clinometer.reliability import ReliabilitySettings as ReliabilitySettings
from clinometer.reliability import Statement as Statement
from clinometer.reliability import load_statements as load_statements
from clinometer.reliability import read_variants as read_variants
from clinometer.reliability import score_reliability as score_reliability
from clinometer.reliability.check import Check as Check
from clinometer.reliability.check import check as check
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
