"""Mutations of what is read from replies, estimated and said: wrong but plausible edits.

Sentences that a person approved (`tests/runs/sentences.txt`) would notice most of those of findings;
they are left out here, since they say only that a sentence changed, and not which one is right.
"""

from __future__ import annotations

from benchmarks.mutation import Mutation

# The tests.
READERS = "tests/readouts"
OUTCOMES = "tests/outcomes tests/findings"
FINDINGS = "tests/outcomes tests/findings tests/runs/findings tests/runs/test_findings.py tests/runs/test_findings_contradictions.py"
PEOPLE = f"{FINDINGS} tests/runs/test_compare.py tests/gate/test_decision.py"
NOT_GOLDEN = (
    "not a_person_has_read and not names_or_descriptions and not planted_difference"
)

TESTS_OF_MEANS = "tests/statistics/intervals/test_means.py"
TESTS_OF_FLIPS = "tests/statistics/intervals/test_flips.py"
TESTS_OF_STUDENT = "tests/statistics/intervals/test_student.py"
TESTS_OF_SIGNIFICANCE = "tests/statistics/test_significance.py"
INFERENCE = "tests/measure/test_inference.py"

# The source.
MEANS = "statistics/intervals/means.py"
FLIPS = "statistics/intervals/flips.py"
STUDENT = "statistics/intervals/student.py"
REACH = "statistics/intervals/reach.py"
SIGNIFICANCE = "statistics/significance.py"
SHAPE = "statistics/shape.py"
BRACKET = "measure/bracket.py"
CHOICE = "readouts/choice.py"
QUESTION = "readouts/question.py"
REPLIES = "readouts/reply.py"
SCORES = "readouts/scores.py"
TABLES = "readouts/tables.py"
PHRASES = "findings/phrases.py"
FACTS = "outcomes/facts.py"
DECISION = "outcomes/decision.py"
OUTCOME = "outcomes/outcome.py"
SCORE = "outcomes/score.py"
OF_REPLIES = "runs/findings/replies.py"
OF_RISK = "runs/findings/risk.py"
OF_COMPARISON = "runs/findings/of_comparison.py"
OF_SHUFFLED = "runs/findings/shuffled.py"

READOUTS = (
    # a label, or the text of an option
    Mutation("readouts", CHOICE, "ends_there = label[2] is None", "ends_there = True", READERS),
    Mutation("readouts", CHOICE, "if len(options) == 1 else None", "if options else None", READERS),
    Mutation("readouts", CHOICE, 'if " " in text]', "if text]", READERS),
    Mutation("readouts", CHOICE, "[self.spellings[y] for y in question.order]", "list(self.spellings)", READERS),
    Mutation("readouts", CHOICE, "return question.order[option] if option >= 0 else option", "return option", READERS),
    Mutation("readouts", CHOICE, "numbers.setdefault(_compared(text), i)", "numbers[_compared(text)] = i", READERS),
    # orders of options
    Mutation("readouts", QUESTION, "MOST_WHOLE = 3", "MOST_WHOLE = 2", READERS),
    Mutation("readouts", QUESTION, "n - 1 - i // 2 if i % 2 else i // 2", "i", READERS),
    Mutation("readouts", QUESTION, "    if n % 2:\n", "    if False:\n", READERS),
    Mutation("readouts", QUESTION, '[""] * (len(of_category) - 1)', '[""] * len(of_category)', READERS),
    # whole replies
    Mutation("readouts", "readouts/readers.py", "if counts.count(most) == 1 else OTHER", "if most else OTHER", READERS),
    Mutation("readouts", REPLIES, "LONGEST = 100_000", "LONGEST = 1_000", READERS),
    Mutation("readouts", REPLIES, "after if ending else reply.partition(begin)[0]", "after if ending else reply", READERS),
    Mutation("readouts", REPLIES, "normal.sort(key=len, reverse=True)", "normal.sort(key=len)", READERS),
    # numbers
    Mutation("readouts", SCORES, "/ self._step + 0.5)", "/ self._step)", READERS),
    Mutation("readouts", SCORES, "if len(numbers) != 1:", "if not numbers:", READERS),
    Mutation("readouts", SCORES, "not low <= number <= high", "not number <= high", READERS),
    Mutation("readouts", SCORES, "MOST_OBJECTS = 1000", "MOST_OBJECTS = 2", READERS),
    Mutation("readouts", SCORES, "if isinstance(value, bool) or not", "if not", READERS),
    Mutation("readouts", SCORES, '.replace(",", "").replace("−", "-")', '.replace(",", ".").replace("−", "-")', READERS),
    # scales
    Mutation("readouts", TABLES, "MOST_OPTIONS = 26", "MOST_OPTIONS = 27", READERS),
    Mutation("readouts", TABLES, "MOST_STEPS = 10", "MOST_STEPS = 11", READERS),
    Mutation("readouts", TABLES, "MOST_NUMBERS = 200", "MOST_NUMBERS = 400", READERS),
    Mutation("readouts", TABLES, "return (high - low) / 100", "return (high - low) / 10", READERS),
    Mutation("readouts", TABLES, "if whole_ends and high", "if high", READERS),
    Mutation("readouts", TABLES, "abs(steps - round(steps)) > 1e-6", "abs(steps - round(steps)) > 0.6", READERS),
)  # fmt: skip

SENTENCES = (
    # parts of sentences
    Mutation("findings", "findings/finding.py", "for side, n in self.tally.items() if side != UNDECIDED", "for side, n in self.tally.items()", FINDINGS, NOT_GOLDEN),
    Mutation("findings", PHRASES, "sorted((max(low, 0.0), high))", "sorted((low, high))", OUTCOMES),
    Mutation("findings", PHRASES, "sorted((max(-high, 0.0), -low))", "sorted((-high, -low))", OUTCOMES),
    Mutation("findings", PHRASES, "max(-difference.low, difference.high)", "difference.high", FINDINGS, NOT_GOLDEN),
    Mutation("findings", PHRASES, "Estimate(max(sizes))", "Estimate(min(sizes))", FINDINGS, NOT_GOLDEN),
    Mutation("findings", PHRASES, "            return {}\n", "            continue\n", FINDINGS, NOT_GOLDEN),
    # how sure a headline is
    Mutation("findings", FACTS, "2.0 ** (1 - self.units)", "2.0 ** (-self.units)", FINDINGS, NOT_GOLDEN),
    Mutation("findings", FACTS, "> 1 - level\n", "> level\n", FINDINGS, NOT_GOLDEN),
    Mutation("findings", FACTS, "and not self.preferences.noisy\n", "\n", FINDINGS, NOT_GOLDEN),
    Mutation("findings", FACTS, "(no_interval or no_test) and not self.exact and not self.clear", "(no_interval or no_test) and not self.exact", FINDINGS, NOT_GOLDEN),
    Mutation("findings", FACTS, "if self.clear or self.preferences.noisy:", "if self.clear:", FINDINGS, NOT_GOLDEN),
    Mutation("findings", FACTS, "max(R.value, R.high or 0.0, by_equation)", "max(R.value, by_equation)", FINDINGS, NOT_GOLDEN),
    Mutation("findings", FACTS, "max(R.value, R.high or 0.0, by_equation)", "max(R.value, R.high or 0.0)", FINDINGS, NOT_GOLDEN),
    Mutation("findings", FACTS, "return split.p <= 1 - (split.lean.level or 0.95)", "return split.p <= (split.lean.level or 0.95)", FINDINGS, NOT_GOLDEN),
    Mutation("findings", FACTS, "> 0 and (self.report.R_bias.low or 0.0) > 0", "> 0", FINDINGS, NOT_GOLDEN),
    Mutation("findings", FACTS, "self.report.R if swing is None else swing", "self.report.R", FINDINGS, NOT_GOLDEN),
    Mutation("findings", FACTS, "undecided = len(self.seen) - len(self.clear)", "undecided = len(self.groups) - len(self.clear)", FINDINGS, NOT_GOLDEN),
    Mutation("findings", FACTS, "key=lambda x: -values[x]", "key=lambda x: values[x]", FINDINGS, NOT_GOLDEN),
    # rates
    Mutation("outcomes", DECISION, "worth[self.favourable] = self.unit.factor", "worth[self.favourable] = 1.0", FINDINGS, NOT_GOLDEN),
    Mutation("outcomes", DECISION, "MANY_UNDECIDED = 0.1", "MANY_UNDECIDED = 0.5", FINDINGS, NOT_GOLDEN),
    Mutation("outcomes", DECISION, "float(weights @ rate[facts.seen] / weights.sum())", "float(rate[facts.seen].mean())", FINDINGS, NOT_GOLDEN),
    Mutation("outcomes", DECISION, "len(facts.words) == 2 and facts.relative", "facts.relative", FINDINGS, NOT_GOLDEN),
    Mutation("outcomes", DECISION, "if extremes[highest].value < mean:", "if extremes[lowest].value < mean:", FINDINGS, NOT_GOLDEN),
    Mutation("outcomes", DECISION, "if extremes[lowest].value > mean:", "if extremes[highest].value > mean:", FINDINGS, NOT_GOLDEN),
    Mutation("outcomes", DECISION, 'numbers["decided"] = Estimate(1 - facts.other)', 'numbers["decided"] = Estimate(facts.other)', FINDINGS, NOT_GOLDEN),
    Mutation("outcomes", DECISION, "if 100 * share >= 0.95:", "if 100 * share >= 0.095:", FINDINGS, NOT_GOLDEN),
    # words
    Mutation("outcomes", "outcomes/words.py", "np.where(np.isnan(facts.report.r), -np.inf, facts.report.r)", "np.nan_to_num(-facts.report.r)", FINDINGS, NOT_GOLDEN),
    Mutation("outcomes", "outcomes/words.py", "among = facts.clear or facts.seen", "among = facts.seen", FINDINGS, NOT_GOLDEN),
    # any outcome
    Mutation("outcomes", OUTCOME, "return self.unit.factor * self.criterion.length", "return self.unit.factor", FINDINGS, NOT_GOLDEN),
    Mutation("outcomes", OUTCOME, "np.where(preferences.observed[..., None], preferences.values, np.nan)", "np.nan_to_num(preferences.values)", FINDINGS, NOT_GOLDEN),
    Mutation("outcomes", OUTCOME, "return np.where(preferences.observed, values, np.nan)", "return values", FINDINGS, NOT_GOLDEN),
    # scores
    Mutation("outcomes", SCORE, "return risk * self.criterion.length", "return risk", FINDINGS, NOT_GOLDEN),
    Mutation("outcomes", SCORE, "max(split.contexts - 1, 1)", "max(split.contexts, 1)", FINDINGS, NOT_GOLDEN),
    Mutation("outcomes", SCORE, "        len(split.groups),\n", "        1,\n", FINDINGS, NOT_GOLDEN),
    Mutation("outcomes", SCORE, "(part.high - part.low) / 2 / length", "(part.high - part.low) / length", FINDINGS, NOT_GOLDEN),
    Mutation("outcomes", SCORE, "sign = 1 if lean.favoured == top else -1", "sign = 1", FINDINGS, NOT_GOLDEN),
    Mutation("outcomes", SCORE, "low = min(middle - reach, lean.lean)", "low = middle - reach", FINDINGS, NOT_GOLDEN),
    Mutation("outcomes", SCORE, "factor = length if lean.favoured == facts.report.categories[-1] else -length", "factor = length", FINDINGS, NOT_GOLDEN),
    Mutation("outcomes", SCORE, "key=lambda x: -abs(leans[x].value)", "key=lambda x: -leans[x].value", FINDINGS, NOT_GOLDEN),
    Mutation("outcomes", SCORE, "position=(score - bottom) / (top - bottom)", "position=score / top", FINDINGS, NOT_GOLDEN),
    Mutation("outcomes", SCORE, "departures = scores - usual", "departures = usual - scores", FINDINGS, NOT_GOLDEN),
    Mutation("outcomes", SCORE, "size = np.where(direction[:, None] != 0, their_way, np.nan)", "size = np.abs(departures)", FINDINGS, NOT_GOLDEN),
    # a run that says nothing, and what is said beside
    Mutation("findings", "runs/findings/facts.py", "NO_PROBABILITY = 1e-3", "NO_PROBABILITY = 1e-1", FINDINGS, NOT_GOLDEN),
    Mutation("findings", "runs/findings/of_run.py", "if facts.improbable > 0.5:", "if facts.improbable > 0.99:", FINDINGS, NOT_GOLDEN),
    Mutation("findings", "runs/findings/cautions.py", "MANY = 0.01", "MANY = 0.5", FINDINGS, NOT_GOLDEN),
    Mutation("findings", "runs/findings/other.py", "UNEVEN = 0.05", "UNEVEN = 0.5", FINDINGS, NOT_GOLDEN),
    Mutation("findings", "runs/findings/judge.py", "CHANCE = 0.05", "CHANCE = 0.5", FINDINGS, NOT_GOLDEN),
    Mutation("findings", "runs/findings/factors.py", "share.low == 0 and share.high == 1", "share.low == 0", FINDINGS, NOT_GOLDEN),
    # lean, swing and dice; irrelevant edits
    Mutation("findings", OF_REPLIES, "LEAST_END = 0.05", "LEAST_END = 0.5", FINDINGS, NOT_GOLDEN),
    Mutation("findings", OF_REPLIES, "factor * math.sqrt(max(value, 0.0))", "math.sqrt(factor * max(value, 0.0))", FINDINGS, NOT_GOLDEN),
    Mutation("findings", OF_REPLIES, "(edits.low or 0) > 1", "(edits.low or 0) > 0", FINDINGS, NOT_GOLDEN),
    Mutation("findings", OF_REPLIES, "0 < edits.high < 1", "0 < edits.high", FINDINGS, NOT_GOLDEN),
    # the size of R, its steady and its shared part
    Mutation("findings", OF_RISK, "WIDE = 0.5", "WIDE = 0.9", FINDINGS, NOT_GOLDEN),
    Mutation("findings", OF_RISK, "if facts.report.n_eff < facts.report.n_contexts - 0.5:", "if facts.report.n_eff < facts.report.n_contexts:", FINDINGS, NOT_GOLDEN),
    Mutation("findings", OF_RISK, "low = max(0.0, 1 - bias.high / R)", "low = max(0.0, 1 - bias.value / R)", FINDINGS, NOT_GOLDEN),
    Mutation("findings", OF_RISK, "if low >= 0.95:", "if low >= 0.8:", FINDINGS, NOT_GOLDEN),
    Mutation("findings", OF_RISK, "if high <= 0.05:", "if high <= 0.2:", FINDINGS, NOT_GOLDEN),
    Mutation("findings", OF_RISK, "if low >= 0.5:", "if low >= 0.3:", FINDINGS, NOT_GOLDEN),
    Mutation("findings", OF_RISK, '"Most" if high <= 0.5', '"Most" if high <= 0.7', FINDINGS, NOT_GOLDEN),
    Mutation("findings", OF_RISK, "if _lower(common) > _upper(between_groups):", "if common.value > between_groups.value:", FINDINGS, NOT_GOLDEN),
    Mutation("findings", OF_RISK, "elif _lower(between_groups) > _upper(common):", "elif between_groups.value > common.value:", FINDINGS, NOT_GOLDEN),
    # shuffled words
    Mutation("findings", OF_SHUFFLED, "CHANCE = 0.05", "CHANCE = 0.5", FINDINGS, NOT_GOLDEN),
    Mutation("findings", OF_SHUFFLED, "bias > (floor.R_bias.high or 0.0)", "bias > (floor.R_bias.low or 0.0)", FINDINGS, NOT_GOLDEN),
    Mutation("findings", OF_SHUFFLED, "if R_is_above and bias_is_above", "if R_is_above", FINDINGS, NOT_GOLDEN),
    # comparisons and several models
    Mutation("findings", OF_COMPARISON, "    alpha = 1 - comparison.level\n", "    alpha = comparison.level\n", FINDINGS, NOT_GOLDEN),
    Mutation("findings", OF_COMPARISON, "d.p_corrected is not None and d.p_corrected <= alpha", "d.p is not None and d.p <= alpha", FINDINGS, NOT_GOLDEN),
    Mutation("findings", OF_COMPARISON, "key=lambda d: abs(d.value or 0.0)", "key=lambda d: d.value or 0.0", FINDINGS, NOT_GOLDEN),
    Mutation("findings", OF_COMPARISON, 'direction = "higher" if estimate.value > 0 else "lower"', 'direction = "higher" if estimate.value < 0 else "lower"', FINDINGS, NOT_GOLDEN),
    Mutation("findings", OF_COMPARISON, "clear = [pair for pair in pairs if pair.clear_sign(comparison.level)]", "clear = [pair for pair in pairs if pair.p is not None and pair.p <= 1 - comparison.level]", FINDINGS, NOT_GOLDEN),
    Mutation("findings", "runs/findings/of_models.py", "corrected = holm(p_values)", "corrected = p_values", "tests/outcomes tests/findings tests/runs tests/report", NOT_GOLDEN),
    Mutation("findings", "runs/findings/of_models.py", "placebo.edit > placebo.groups", "placebo.edit < placebo.groups", "tests/runs/test_placebo.py tests/report"),
    Mutation("findings", "runs/findings/of_models.py", "placebo.high is not None and placebo.high < 1", "placebo.low is not None and placebo.low < 1", "tests/runs/test_placebo.py tests/report"),
    # kinds of people
    Mutation("people", "runs/findings/people.py", "level = joint(settings.level, len(kinds))", "level = settings.level", PEOPLE, NOT_GOLDEN),
    Mutation("people", "runs/departures.py", "SHARE_OF_KINDS = 0.2", "SHARE_OF_KINDS = 1.0", PEOPLE, NOT_GOLDEN),
    Mutation("people", "runs/departures.py", "return 1 - (1 - level) / max(number, 1)", "return level", PEOPLE, NOT_GOLDEN),
    Mutation("people", "runs/departures.py", "lean.low > ROUNDING or lean.high < -ROUNDING", "lean.low > ROUNDING", PEOPLE, NOT_GOLDEN),
    Mutation("people", "runs/departures.py", "residuals = unit_sums - unit_weights * mean[:, None]", "residuals = unit_sums - mean[:, None] / len(unit_sums.T)", PEOPLE, NOT_GOLDEN),
    Mutation("people", "runs/kinds.py", "number += 1 if n_kinds == 2 else n_kinds", "number += n_kinds", PEOPLE, NOT_GOLDEN),
)  # fmt: skip

STATISTICS = (
    # Hall's interval of means
    Mutation("statistics", MEANS, "MAX_SKEWNESS = 0.9", "MAX_SKEWNESS = 3.0", TESTS_OF_MEANS),
    Mutation("statistics", MEANS, "MIN_ARM = 0.7", "MIN_ARM = 0.0", TESTS_OF_MEANS),
    Mutation("statistics", MEANS, "NEARLY_SYMMETRIC = 1e-6", "NEARLY_SYMMETRIC = 1e-1", TESTS_OF_MEANS),
    Mutation("statistics", MEANS, "student_reach(1.0, np.maximum(sample.size - 1, 1), level=level)", "student_reach(1.0, np.maximum(sample.size, 1), level=level)", TESTS_OF_MEANS),
    Mutation("statistics", MEANS, "sample.mean_square * sum_w2 * n / np.maximum(n - 1, 1)", "sample.mean_square * sum_w2", TESTS_OF_MEANS),
    Mutation("statistics", MEANS, "weighted_squares / np.maximum(1 - sum_w2, 1e-9)", "weighted_squares", TESTS_OF_MEANS),
    Mutation("statistics", MEANS, "(of_all_alike + where_weight_lies) / 2", "where_weight_lies", TESTS_OF_MEANS),
    Mutation("statistics", MEANS, "(n * np.maximum(n - 2, 1))", "(n * np.maximum(n - 1, 1))", TESTS_OF_MEANS),
    Mutation("statistics", MEANS, "sample.sum_of_cubed_weights / sum_w2**1.5", "sample.sum_of_cubed_weights / sum_w2", TESTS_OF_MEANS),
    Mutation("statistics", MEANS, "(quantile - skewness / 6)", "(quantile + skewness / 6)", TESTS_OF_MEANS),
    # flips
    Mutation("statistics", FLIPS, "STEPS = 8", "STEPS = 2", TESTS_OF_FLIPS),
    Mutation("statistics", FLIPS, "FARTHEST = 64.0", "FARTHEST = 4.0", TESTS_OF_FLIPS),
    Mutation("statistics", FLIPS, "LEAST_FOR_NONE = 30.0", "LEAST_FOR_NONE = 5.0", TESTS_OF_FLIPS),
    Mutation("statistics", FLIPS, "return np.asarray(p_value > 1 - level)", "return np.asarray(p_value > (1 - level) / 2)", TESTS_OF_FLIPS),
    Mutation("statistics", SIGNIFICANCE, "return np.asarray(2.0 * one_side)", "return np.asarray(one_side)", TESTS_OF_SIGNIFICANCE),
    # corrections
    Mutation("statistics", SIGNIFICANCE, "p[order] * np.arange(order.size, 0, -1)", "p[order] * order.size", TESTS_OF_SIGNIFICANCE),
    Mutation("statistics", SIGNIFICANCE, "p[order] * order.size / np.arange(1, order.size + 1)", "p[order] * order.size", TESTS_OF_SIGNIFICANCE),
    # quantiles and degrees of freedom
    Mutation("statistics", REACH, "float(ndtri(0.5 + level / 2))", "float(ndtri(level))", "tests/statistics/intervals/test_reach.py"),
    Mutation("statistics", REACH, "(1 + level) / 2)\n", "level)\n", "tests/statistics/intervals/test_reach.py"),
    Mutation("statistics", STUDENT, "values.var(ddof=1) / n", "values.var() / n", TESTS_OF_STUDENT),
    Mutation("statistics", STUDENT, "(v + w) ** 2 / (v**2 / (n - 1) + w**2 / (m - 1))", "n + m - 2", TESTS_OF_STUDENT),
    Mutation("statistics", "statistics/intervals/percentile.py", "[(1 - level) / 2, (1 + level) / 2]", "[1 - level, level]", "tests/statistics/intervals/test_percentile.py"),
    # weights and shape
    Mutation("statistics", "statistics/weights.py", "float(1.0 / np.sum(w * w))", "float(1.0 / np.max(w))", "tests/statistics/test_weights.py"),
    Mutation("statistics", SHAPE, "LEAST = 8", "LEAST = 3", "tests/statistics/test_shape.py"),
    Mutation("statistics", SHAPE, "LEAST_KURTOSIS = 20", "LEAST_KURTOSIS = 5", "tests/statistics/test_shape.py"),
    Mutation("statistics", SHAPE, "max(2, math.isqrt(n))", "max(2, n // 2)", "tests/statistics/test_shape.py"),
)  # fmt: skip

MEASURE = (
    # the bracket and its ends
    Mutation("measure", BRACKET, "FOLDS = 3", "FOLDS = 2", INFERENCE),
    Mutation("measure", BRACKET, "FEW = 3.0", "FEW = 0.0", INFERENCE),
    Mutation("measure", BRACKET, "return np.asarray(np.maximum((low + high) / 2, high / 2))", "return np.asarray((low + high) / 2)", INFERENCE),
    Mutation("measure", BRACKET, "mean + 2 * reach))", "mean + reach))", INFERENCE),
    Mutation("measure", BRACKET, "return self.bias_along_lines[0].low - self.slack", "return self.bias_along_lines[0].low", INFERENCE),
    Mutation("measure", BRACKET, "swing.high + means.slack", "swing.high", INFERENCE),
    Mutation("measure", BRACKET, "np.where(lowest_bias > 0, 0.0, highest_R)", "np.zeros_like(highest_R)", INFERENCE),
    Mutation("measure", "measure/inference.py", "LEAST_EFFECTIVE = 2.5", "LEAST_EFFECTIVE = 1.5", INFERENCE),
    Mutation("measure", "measure/inference.py", "WIDE = 0.5", "WIDE = 5.0", INFERENCE),
    Mutation("measure", "measure/inference.py", "2 * float(risks.half_width[0, -1])", "float(risks.half_width[0, -1])", INFERENCE),
    # other estimators
    Mutation("measure", "measure/criterion.py", "_RELEASED = 5.0", "_RELEASED = 1.0", "tests/measure/test_criterion.py"),
    Mutation("measure", "measure/confusion.py", "LEAST_LABELS = 5", "LEAST_LABELS = 1", "tests/measure/test_judge.py tests/runs/test_calibration.py"),
    Mutation("measure", "measure/confusion.py", "WEAKEST = 0.1", "WEAKEST = 0.0", "tests/measure/test_judge.py tests/runs/test_calibration.py"),
    Mutation("measure", "measure/ledger.py", "WITHIN = 0.95", "WITHIN = 0.5", "tests/measure/test_ledger.py"),
    Mutation("measure", "measure/ledger.py", "SILENCE_MARGIN = 1.0", "SILENCE_MARGIN = 10.0", "tests/measure/test_ledger.py"),
    Mutation("measure", "measure/placebo.py", "LEAST_UNITS = 3", "LEAST_UNITS = 2", "tests/runs/test_placebo.py"),
    Mutation("measure", "measure/factors.py", "LEAST_UNITS = 4.0", "LEAST_UNITS = 2.0", "tests/measure/test_factors.py"),
    Mutation("measure", "measure/planning.py", "POWER = 0.8", "POWER = 0.5", "tests/measure/test_planning.py"),
    Mutation("measure", "measure/planning.py", "SPREAD = 0.15", "SPREAD = 0.3", "tests/measure/test_planning.py"),
    Mutation("measure", "measure/preferences.py", "FEW_REPLIES = 3", "FEW_REPLIES = 30", "tests/measure"),
)  # fmt: skip

ESTIMATORS = (*READOUTS, *SENTENCES, *STATISTICS, *MEASURE)
