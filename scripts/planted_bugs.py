"""The bugs that `mutations.py` plants: each a wrong line, and the tests that must notice it."""

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

SOURCES = ("src/**/*.py", "js/src/**/*.ts")
TEST = re.compile(r"^test_.*\.py$|\.test\.js$")

RELEASE = ("release/**", "mean/**")
CHANNELS = ("channels/**",)
FREQUENCY = ("items/test_protocol.py", "shares/**", "items/**")
KMEANS = ("kmeans/test_audit.py", "kmeans/protocol/**", "kmeans/test_*.py", "kmeans/**")
DISTRIBUTION = ("distribution/**",)
GROUPS = ("study/test_groups.py",)
UNSEEDED = ("release/test_unseeded.py",)
INTERFERENCE = ("release/test_noninterference.py",)
DEGENERATE = ("release/test_degenerate.py",)
JAVASCRIPT = ("js/test/conformance.test.js", "js/test/channel.test.js", "js/test/frequency.test.js")
CONTRIBUTION = ("kmeans/test_statistics.py", *KMEANS)


@dataclass(frozen=True)
class Bug:
    """A wrong line.

    Attributes
    ----------
    name : str
        What kind of line it is, and what is wrong.
    right, wrong : str
        The text, which must occur once in all of the source, and what takes its place.
    tests : tuple of str
        Patterns of test files, the likeliest first: below `tests`, or of JavaScript.
    """

    name: str
    right: str
    wrong: str
    tests: tuple[str, ...]

    def place(self, tree: Path) -> Path:
        """Find the file that it goes into; `LookupError` if there is not exactly one place for it."""
        places = [path for path, text in _texts(tree).items() for _ in range(text.count(self.right))]
        if len(places) != 1:
            raise LookupError(f"the right text occurs {len(places)} times: {self.right.strip()}")
        return places[0]

    def test_files(self, tree: Path) -> list[str]:
        """List the files of its tests, the likeliest first."""
        patterns = (f"{pattern}/test_*.py" if pattern.endswith("**") else pattern for pattern in self.tests)
        roots = (pattern if pattern.startswith("js/") else f"tests/{pattern}" for pattern in patterns)
        paths = [path.relative_to(tree) for root in roots for path in sorted(tree.glob(root))]
        return list(dict.fromkeys(path.as_posix() for path in paths if TEST.search(path.name)))


@lru_cache(maxsize=2)
def _texts(tree: Path) -> dict[Path, str]:
    paths = [path for pattern in SOURCES for path in sorted(tree.glob(pattern))]
    return {path: path.read_text("utf-8") for path in paths}


BUGS = (
    # How much one user can change
    Bug(
        "sensitivity: a replaced point changes the numbers of one user only",
        "CHANGED_USERS = 2",
        "CHANGED_USERS = 1",
        KMEANS,
    ),
    Bug(
        "sensitivity: a K-means release forgets that one point leaves and another one comes",
        "return CHANGED_USERS * statistic.max_contribution",
        "return statistic.max_contribution",
        KMEANS,
    ),
    Bug(
        "sensitivity: the two histograms of a distribution count as one",
        "SENSITIVITY = 4",
        "SENSITIVITY = 2",
        DISTRIBUTION,
    ),
    Bug(
        "sensitivity: the count of a cluster is not in the bound",
        "return self.count_weight + L1_UNIT",
        "return L1_UNIT",
        CONTRIBUTION,
    ),
    Bug(
        "sensitivity: a total is thought to move by half of the range",
        "trusted.array(), UNITS, trusted.count)",
        "trusted.array(), UNITS // 2, trusted.count)",
        DEGENERATE,
    ),
    Bug(
        "sensitivity: counts of categories forget that one goes down when another one goes up",
        "return 1 if n_categories == 2 else 2",
        "return 1",
        FREQUENCY,
    ),
    # Noise
    Bug(
        "scale: what is drawn has half the scale of what is stated",
        "_measurement(self)([0] * math.prod(shape))",
        "_measurement(Mechanism(self.kind, self.scale / 2))([0] * math.prod(shape))",
        RELEASE,
    ),
    Bug(
        "scale: Gaussian noise for half of the range",
        ".map(sensitivity)[0]) <= privacy.exact_epsilon",
        ".map(sensitivity // 2)[0]) <= privacy.exact_epsilon",
        RELEASE,
    ),
    Bug(
        "scale: seeded noise is a fifth too small",
        "stop = -math.expm1(-1 / self.scale)",
        "stop = -math.expm1(-1.25 / self.scale)",
        RELEASE,
    ),
    Bug(
        "ledger: releases are made without being charged",
        "        [event for event, _ in events],\n",
        "        [],\n",
        ("release/test_door.py", "release/**"),
    ),
    # Noise that somebody else can draw again
    Bug(
        "seed: totals, counts, histograms and K-means get the same noise every time",
        "noise.draw(statistic.values.shape, random_state)",
        "noise.draw(statistic.values.shape, 0 if random_state is None else random_state)",
        UNSEEDED,
    ),
    Bug(
        "seed: lists of items get the same noise every time",
        "rule.mechanism.draw((len(seen),), random_state)",
        "rule.mechanism.draw((len(seen),), 0 if random_state is None else random_state)",
        UNSEEDED,
    ),
    Bug(
        "seed: reports are drawn from a seed that everybody knows",
        "        return SystemBytes()\n",
        "        return SeededBytes(0)\n",
        UNSEEDED,
    ),
    # Raw values beside the release
    Bug(
        "interference: a mean is that of the exact total",
        "TrustedStatistics.of(released),",
        'TrustedStatistics.of(__import__("dataclasses").replace(released, values=groups.trusted.array())),',
        INTERFERENCE,
    ),
    Bug(
        "interference: noisy counts are kept above the smallest exact one",
        "GroupShares.of_release(released, self.n_sums)",
        "GroupShares.of_counts(np.maximum(released.values, groups.trusted.array().min()), released.count, "
        "released.variance)",
        INTERFERENCE,
    ),
    Bug(
        "interference: histograms count less where few bins have users",
        "fits=fit_groups(histogram, groups.evidence),",
        'fits=fit_groups(histogram and __import__("dataclasses").replace(histogram, variance=histogram.variance '
        "* np.count_nonzero(groups.trusted.array())), groups.evidence),",
        INTERFERENCE,
    ),
    Bug(
        "interference: items that reports led to have exact counts",
        "of_trusted = trusted_shares(counts, n_trusted, released.rule, listed)",
        "of_trusted = trusted_shares(np.array([float(trusted.counts.get(i, 0)) for i in items]), n_trusted, "
        "released.rule, listed)",
        INTERFERENCE,
    ),
    Bug(
        "interference: numbers of K-means that are 0 stay 0",
        "return PublishedVector(released.values, released.variance)",
        "return PublishedVector(np.where(exact == 0, 0, released.values), released.variance)",
        INTERFERENCE,
    ),
    # Noise whose scale is chosen from data
    Bug(
        "data: histograms with one bin get half of the noise",
        "tree(trusted.array()), SENSITIVITY, trusted.count",
        "tree(trusted.array()), SENSITIVITY // (2 if np.count_nonzero(trusted.array()) < 2 else 1), trusted.count",
        DEGENERATE,
    ),
    Bug(
        "data: counts of one category get half of the noise",
        "exact[:1] if bound == 1 else exact, bound, trusted.count",
        "exact[:1] if bound == 1 else exact, min(bound, int(np.count_nonzero(exact))), trusted.count",
        DEGENERATE,
    ),
    Bug(
        "data: items get less noise in a small group",
        "noise = rule.mechanism.draw(",
        'noise = Mechanism("discrete-laplace", min(rule.scale, statistic.count)).draw(',
        DEGENERATE,
    ),
    Bug(
        "data: K-means adds as much noise as there are numbers to hide",
        "Statistic(_label(purpose), exact, bound, points.count)",
        "Statistic(_label(purpose), exact, min(bound, int(np.abs(exact).sum())), points.count)",
        DEGENERATE,
    ),
    Bug(
        "data: a total gets less noise in a small group",
        "return statistic.values + noise.draw(",
        "return statistic.values + (noise if statistic.count > 1 else Mechanism(noise.kind, noise.scale / 2)).draw(",
        DEGENERATE,
    ),
    # Who is asked
    Bug(
        "rounds: somebody whose round is over answers a later one",
        '        raise Refusal("late", round_number=turn)\n',
        "        pass\n",
        ("service/test_kmeans_life.py",),
    ),
    Bug(
        "rounds: answers that arrive after their round has ended are acknowledged",
        "    if outcome is Verdict.CLOSED:  # the round ended while the answer was on its way\n",
        "    if False:\n",
        ("service/test_kmeans_life.py",),
    ),
    # Fractions of the budget
    Bug(
        "budget: every release of K-means takes all of ε",
        "exact = wanted.epsilon_fraction * self.study.privacy.exact_epsilon",
        "exact = self.study.privacy.exact_epsilon",
        KMEANS,
    ),
    Bug(
        "list: items are sorted by their exact counts",
        "kept.sort(key=lambda item: (-noisy[item], item))",
        "kept.sort(key=lambda item: (-counts.get(item, 0), item))",
        ("frequency/test_open_release.py", *FREQUENCY),
    ),
    Bug(
        "budget: a K-means study begins that its ledger cannot pay to the end",
        "self.ledger.require(self._event())",
        "pass",
        ("kmeans/protocol/**", *KMEANS),
    ),
    Bug(
        "budget: the plan of a large trusted group spends 110 %",
        "epsilon=(0, 0, 20, 20, 0, 10, 15, 0, 35)",
        "epsilon=(0, 0, 20, 20, 0, 10, 15, 0, 45)",
        ("kmeans/algorithm/**", *KMEANS),
    ),
    Bug(
        "budget: what a K-means study has spent is not added up",
        "return sum((Fraction(step.trusted_epsilon) for step in self.spending), Fraction(0))",
        "return Fraction(0)",
        ("kmeans/protocol/**", *KMEANS),
    ),
    Bug(
        "ledger: K-means asks local users without charging them",
        '_label("the whole study"), ledger=self.ledger)',
        '_label("the whole study"), ledger=None)',
        ("kmeans/protocol/**",),
    ),
    # Local reports
    Bug(
        "channel: odds of e^(ε + 0.01) pass",
        "likely << SHIFT <= unlikely * odds(epsilon), f",
        "likely << SHIFT <= unlikely * odds(epsilon) * 101 // 100, f",
        CHANNELS,
    ),
    Bug(
        "channel: a window's odds are thought to be b/a",
        "require_private(a + b, a, epsilon)",
        "require_private(b, a, epsilon)",
        CHANNELS,
    ),
    Bug(
        "channel: a unary report's zeros are not counted",
        "require_private(self.one * (total - self.zero), self.zero * (total - self.one), self.epsilon)",
        "require_private(self.one, self.zero, self.epsilon)",
        CHANNELS,
    ),
    Bug(
        "channel: the pattern of a masked report depends on the bin",
        "pattern = self.draw_patterns(words[1::2].astype(np.uint32))",
        "pattern = self.draw_patterns(words[1::2].astype(np.uint32) ^ inputs.astype(np.uint32) << np.uint32(24))",
        CHANNELS,
    ),
    Bug(
        "channel: the weights of a window do not add up",
        'require(n * a + k * b == 1 << self.bits, "its weights do not add up to 2 to the power of its bits")',
        "pass",
        CHANNELS,
    ),
    Bug(
        "channel: e^ε is rounded up",
        "term = term * x.numerator // (x.denominator * k)",
        "term = -(-term * x.numerator // (x.denominator * k)) if term > 1 else 0",
        ("test_privacy.py", "channels/**"),
    ),
    # Clipping
    Bug(
        "clipping: long residuals stay long",
        "np.where(length > L1_UNIT, clipped, whole)",
        "np.where(length > L1_UNIT, whole, whole)",
        CONTRIBUTION,
    ),
    Bug(
        "clipping: what is not a number becomes the smallest integer",
        "np.clip(np.nan_to_num(vectors), -1e6, 1e6)",
        "np.clip(vectors, -1e6, 1e6)",
        CONTRIBUTION,
    ),
    Bug(
        "clipping: values above the upper bound stay there",
        "y = x.clip(lower, upper) if out is None else x.clip(lower, upper, out=out)",
        "y = x.clip(lower, None) if out is None else x.clip(lower, None, out=out)",
        ("test_grid.py", "tables/**", "mean/**"),
    ),
    # The ledger
    Bug(
        "ledger: nobody asks whether enough is left",
        "                self._check_sums(charge.event, charge.promised)\n",
        "",
        ("release/**",),
    ),
    Bug(
        "ledger: a release is checked and not written down",
        "    if ledger is None or seeded or not (events or reports):\n        return Charged.NOT\n",
        "    if ledger is None or seeded or not (events or reports):\n        return Charged.NOT\n    return "
        "[ledger.require(event, promised=cost.promised) for event, cost in events] and Charged.NOW\n",
        ("release/test_door.py", "release/**"),
    ),
    Bug(
        "parts: only the first of several releases is charged",
        "        [event for event, _ in events],\n        [cost.event",
        "        [event for event, _ in events[:1]],\n        [cost.event",
        ("release/test_door.py", "release/**"),
    ),
    Bug(
        "ledger: the last part counts instead of the one that spent most",
        "\n        partition.most = partition.most.at_least(account.sums)",
        "\n        partition.most = account.sums",
        ("release/**",),
    ),
    Bug(
        "ledger: δ is not compared",
        "return self.epsilon <= limit.epsilon and self.delta <= limit.delta",
        "return self.epsilon <= limit.epsilon",
        ("release/**",),
    ),
    Bug(
        "ledger: local users are thought to have been charged before",
        "    spent: Fraction = Fraction(0)\n    in_steps: bool = False\n",
        "    spent: Fraction = Fraction(0)\n    in_steps: bool = True\n",
        ("release/test_door.py", "release/**"),
    ),
    Bug(
        "ledger: a study is charged to trusted users only",
        "return [Charge(replace(both, who=EVERYBODY), promised)]",
        "return [Charge(both, promised)]",
        ("release/test_charging.py",),
    ),
    Bug(
        "ledger: what everybody is charged keeps a mechanism that local reports do not have",
        "both = replace(event, mechanism=None)",
        "both = event",
        ("release/test_charging.py",),
    ),
    Bug(
        "ledger: reports of one part make those of all others free",
        "        return charged is None\n",
        "        return True\n",
        ("release/test_charging.py",),
    ),
    Bug(
        "ledger: a result that is there is drawn again",
        "if any(e.result in ledger.complete_results for e in before):",
        "if False:",
        ("cli/test_keeping.py",),
    ),
    Bug(
        "ledger: a result is named before the ledger has its hash",
        "        note_saved(self.ledger, self.path.name, sha256(data).hexdigest())\n        self._rename()\n",
        "        self._rename()\n        note_saved(self.ledger, self.path.name, sha256(data).hexdigest())\n",
        ("cli/test_keeping.py",),
    ),
    # Releases of every kind
    Bug(
        "size: groups of fewer users than the study asks for are released",
        "check_sizes(groups.n_trusted, groups.n_local, groups.study.min_group_size, single_group=single_group)",
        "check_sizes(groups.n_trusted, groups.n_local, 1, single_group=single_group)",
        GROUPS,
    ),
    Bug(
        "groups: summaries of another study are taken",
        "if summary.study != question.digest:",
        "if not summary.study:",
        GROUPS,
    ),
    Bug(
        "groups: sums that so few users cannot have are released",
        "if not least * trusted.count <= sum(trusted.sums) <= most * trusted.count:",
        "if not least * trusted.count <= sum(trusted.sums):",
        GROUPS,
    ),
    Bug(
        "sensitivity: a value counts twice in its coarse bin",
        "np.concatenate([counts.reshape(N_COARSE, _WIDE).sum(axis=1), counts])",
        "np.concatenate([2 * counts.reshape(N_COARSE, _WIDE).sum(axis=1), counts])",
        ("distribution/test_release.py", *DISTRIBUTION),
    ),
    Bug(
        "list: an item that one user has is listed",
        "kept = [item for item in seen if item in public or noisy[item] >= rule.threshold]",
        "kept = [item for item in seen if item in public or noisy[item] >= 1]",
        ("items/test_open_release.py", *FREQUENCY),
    ),
    Bug(
        "list: the threshold hides an item half as well as δ says",
        "return terms * chance >= 1 << SHIFT",
        "return 2 * terms * chance >= 1 << SHIFT",
        ("items/test_open_release.py", *FREQUENCY),
    ),
    Bug(
        "list: a list is released without being paid for",
        '_charge(ledger, [(cost.event(statistic.label, "trusted", MechanismRecord("thresholded")), cost)]',
        '_charge(None, [(cost.event(statistic.label, "trusted", MechanismRecord("thresholded")), cost)]',
        ("items/test_open_release.py", "items/**"),
    ),
    Bug(
        "budget: the releases of a K-means study may cost more than it promises",
        "if self.spent + self.privacy.exact_epsilon > self.promised.exact_epsilon:",
        "if False:",
        ("release/test_door.py", "kmeans/protocol/**"),
    ),
    Bug(
        "budget: a K-means study goes on with another ledger",
        "if nonce not in (None, self.ledger.nonce) or recorded < epsilon:",
        "if False:",
        ("kmeans/protocol/**",),
    ),
    Bug(
        "rounds: answers that were drawn with a seed count in a private study",
        "if tally.seeded and not self.seeded:",
        "if False:",
        ("kmeans/protocol/**",),
    ),
    Bug(
        "rounds: a round may ask a single person",
        "self.require(all(fraction >= LEAST_FRACTION for fraction in self.fractions), thin)",
        "self.require(all(fraction > 0 for fraction in self.fractions), thin)",
        ("kmeans/protocol/test_turns.py", "kmeans/protocol/**"),
    ),
    Bug(
        "places: whoever issues tokens chooses them",
        "{_PURPOSE}\\n{study_digest}\\n{nonce}\\n{unicodedata",
        "{_PURPOSE}\\n{study_digest}\\n\\n{unicodedata",
        ("kmeans/protocol/test_turns.py",),
    ),
    Bug(
        "places: a later token spells somebody into another place",
        "{unicodedata.normalize('NFC', subject)}",
        "{subject}",
        ("kmeans/protocol/test_turns.py",),
    ),
    Bug(
        "tables: two rows of one user count twice",
        'if found["users"] and repeated == "refuse":',
        "if False:",
        ("tables/test_users.py", "tables/test_*.py"),
    ),
    Bug(
        "amplification: users who collude hide others",
        "honest, promised = n_local - colluding, float(study.privacy.epsilon)",
        "honest, promised = n_local, float(study.privacy.epsilon)",
        ("amplification/test_amplify.py", "amplification/**"),
    ),
    Bug(
        "forged: rows of ones are not noticed",
        "return max(wrong, wrong_in_ones(int(supports.sum()), int(users.sum()), law, false_alarm=level))",
        "return wrong",
        ("channels/test_ones.py", "channels/**"),
    ),
    Bug(
        "forged: answers to rounds are not tested",
        "self.implausible_reports += implausible_answers(step.asks, result.answers, number)",
        "self.implausible_reports += 0 * number",
        ("kmeans/protocol/test_plausible.py",),
    ),
    # Local reports and devices
    Bug(
        "channel: the function of a hashed report depends on its key",
        "function = (words[1::2] & words.dtype.type(self.n_functions - 1)).astype(np.int64)",
        "function = ((words[1::2] ^ inputs.astype(words.dtype)) & words.dtype.type(self.n_functions - 1)).astype(int)",
        ("channels/test_hashing.py", *CHANNELS),
    ),
    Bug(
        "channel: a set of more codes than the channel's is reported",
        "bad = np.count_nonzero(np.bitwise_count(sets) != self.n_chosen)",
        "bad = np.count_nonzero(np.bitwise_count(sets) < self.n_chosen)",
        ("channels/test_refused.py", *CHANNELS),
    ),
    Bug(
        "channel: one for another ε than the user was shown is parsed",
        'require(channel.epsilon == promised, f"it is for epsilon {channel.epsilon}, but {promised} was promised")',
        "require(bool(promised), promised)",
        ("channels/test_refused.py", *CHANNELS),
    ),
    Bug(
        "channel: the group of a device in local discovery follows from its item",
        'groups = source.take(4 * len(codes)).view("<u4").astype(np.int64) % len(LEVELS)',
        'groups = (source.take(4 * len(codes)).view("<u4") * 0 + codes).astype(np.int64) % len(LEVELS)',
        ("items/test_discovery.py", *FREQUENCY),
    ),
    Bug(
        "channel: the variant of an answer to a round follows from the point",
        "variants = (of_variant[users].astype(np.int64) * ask.question.n_variants) >> 32",
        "variants = (points[users, 0] * 7).astype(np.int64) % ask.question.n_variants",
        ("kmeans/protocol/**", *KMEANS),
    ),
    Bug(
        "seed: all processes draw the same reports",
        "own.stream = _keystream(os.urandom(32), os.urandom(16))",
        "own.stream = _keystream(bytes(32), bytes(16))",
        ("test_randomness.py",),
    ),
    Bug(
        "seed: a process and its children draw the same reports",
        'if getattr(own, "process", None) != os.getpid() or own.left < len(buffer):',
        'if getattr(own, "process", None) is None or own.left < len(buffer):',
        ("test_randomness.py",),
    ),
    Bug(
        "device: a curator who changes whose turn it is is believed",
        "if entry.turns and not turns.follows(Turns.from_json(entry.turns)):",
        "if False:",
        ("client/**", "service/test_kmeans_client.py"),
    ),
    Bug(
        "device: the nonce leaves with the enrollment",
        'return _check.compact({"digest": self.digest, "commitment": self.commitment}, escaped=True).encode()',
        'return _check.compact({"digest": self.digest, "commitment": self.commitment, "nonce": self.nonce}).encode()',
        ("client/test_contribution.py", "client/**"),
    ),
    Bug(
        "device: another study than the one that the app was made for is answered",
        "if pinned is not None and pinned != found:",
        "if False:",
        ("client/test_offer.py", "client/**"),
    ),
    Bug(
        "device: what was drawn is sent before it is kept",
        "        kept = yield from stored(lambda: self.journal.create(entry))\n        if kept.contribution == made:",
        "        kept = entry\n        if kept.contribution == made:",
        ("client/**",),
    ),
    # The ledger
    Bug(
        "ledger: what other programs have spent is not read first",
        "            self._take_contents(opened.contents)  # others may have spent in the meantime\n",
        "",
        ("release/ledger/test_ledger.py", "release/**"),
    ),
    Bug(
        "ledger: an event is not on disk when noise is drawn",
        "            rest = rest[file.write(rest) :]\n        os.fsync(file.fileno())\n",
        "            rest = rest[file.write(rest) :]\n",
        ("release/ledger/test_file.py", "release/**"),
    ),
    Bug(
        "ledger: one that costs more than its budget is opened",
        "        ledger._require_within_budget()\n",
        "",
        ("release/ledger/test_ledger.py", "release/**"),
    ),
    Bug(
        "ledger: a study may spend more than it promises",
        "if promised is not None:  # a study's promise is the sum of its releases, whatever the accountant",
        "if promised is None:",
        ("release/ledger/test_ledger.py", "release/**"),
    ),
    Bug(
        "ledger: everybody is the local group alone",
        "        return GROUPS\n    if who not in GROUPS:",
        '        return ("local",)\n    if who not in GROUPS:',
        ("release/**",),
    ),
    Bug(
        "ledger: a line that does not follow from the one before it is read",
        "if line[-_SUFFIX:] != _FIELD + _checksum(head, body).encode() + _END:",
        "if not line.endswith(_END):",
        ("release/ledger/test_text.py", "release/ledger/test_file.py", "release/**"),
    ),
    Bug(
        "ledger: Gaussian noise costs half of its ρ",
        "return (self.exact_sensitivity / self.exact_scale) ** 2 / 2\n",
        "return (self.exact_sensitivity / self.exact_scale) ** 2 / 4\n",
        ("release/test_mechanism_record.py", "release/**"),
    ),
    Bug(
        "ledger: keys that are spelled almost alike are two parts",
        'text = unicodedata.normalize("NFKC", str(key)).strip().casefold()',
        "text = str(key)",
        ("release/**",),
    ),
    # The server's release
    Bug(
        "server: a result is stored without being charged",
        "    draft.charge(connection, study, kind.privacy)\n    if draft.drawn.items is not None:\n",
        "    if draft.drawn.items is not None:\n",
        ("service/test_drafts.py", "service/test_lives.py"),
    ),
    Bug(
        "server: a list is stored without being charged",
        "        draft.charge(connection, study, kind.privacy)\n        _store_list(",
        "        _store_list(",
        ("service/test_drafts.py", "service/test_lives.py"),
    ),
    Bug(
        "server: a round is published without being charged",
        "        draft.charge(self.connection, self.study, self.kind.privacy)\n",
        "",
        ("service/test_drafts.py", "service/test_lives.py"),
    ),
    Bug(
        "server: the second of two draws is shown, too",
        "    if step.result is not None:\n        return ReleaseAnswer(step.result, new=False)\n    if draft is",
        "    if draft is",
        ("service/test_drafts.py", "service/test_lives.py"),
    ),
    Bug(
        "server: the second of two lists that were drawn at once replaces the first",
        "if draft is None or list_of(connection, study) is not None:",
        "if draft is None:",
        ("service/test_drafts.py", "service/test_lives.py"),
    ),
    Bug(
        "server: the time of an answer is that of the draw",
        "return -seconds % GRID",
        "return 0.0 * seconds * GRID",
        ("service/test_drafts.py",),
    ),
    Bug(
        "server: exact sums stay after a release",
        "studies.set_state(connection, study.number, RELEASED)\n    stored.forget_total(connection, study.number)",
        "studies.set_state(connection, study.number, RELEASED)",
        ("service/test_lives.py",),
    ),
    Bug(
        "server: groups that are too small are released",
        "    require_sizes(gathered, **wanted, single_group=alone)\n    used = usable(",
        "    used = usable(",
        ("service/test_life.py", "service/test_lives.py"),
    ),
    Bug(
        "server: a study charges nothing to its shared budget",
        "budgets.charge_everybody(connection, study.budget, kind)",
        "budgets.ledger(connection, budgets.shared(study.budget))",
        ("service/test_budgets.py", "service/test_lives.py"),
    ),
    Bug(
        "server: whoever contributes twice counts twice",
        "_change_sums(connection, [one for one in rows if one.key in new], 1, replica=replica, seal=seal)",
        "_change_sums(connection, rows, 1, replica=replica, seal=seal)",
        ("service/store/test_contributions.py", "service/test_lives.py"),
    ),
    Bug(
        "server: somebody withdraws what they have not contributed",
        "    if found.commitment != one.commitment:\n        return Verdict.DUPLICATE\n    one = replace(",
        "    one = replace(",
        ("service/store/test_contributions.py", "service/test_lives.py"),
    ),
    Bug(
        "server: totals are in the database as they are",
        "return nonce + self._cipher(digest, replica).encrypt(nonce, plain, _context(digest, replica, count))",
        "return nonce + plain + bytes(_TAG)",
        ("service/store/test_seal.py",),
    ),
    Bug(
        "server: the curator's report is for everybody",
        '    **_ADMIN,\n    responses=problems("bad-token", "not-found"),\n)\nasync def report_page(',
        '    responses=problems("bad-token", "not-found"),\n)\nasync def report_page(',
        ("service/test_lives.py",),
    ),
    Bug(
        "server: a nonce is taken that nobody committed to",
        "if not hmac.compare_digest(person.commitment, opened):",
        "if not opened:",
        ("service/test_kmeans_life.py",),
    ),
    Bug(
        "server: the noise of quantiles is the same every time",
        "estimate = self.study.estimate(\n            trusted=self._trusted(gathered), local=self._local(gathered), "
        "single_group=single_group, ledger=ledger\n        )",
        "estimate = self.study.estimate(\n            trusted=self._trusted(gathered), local=self._local(gathered), "
        "single_group=single_group, random_state=0\n        )",
        ("service/test_unseeded.py",),
    ),
    Bug(
        "server: the noise of rounds is the same every time",
        "server = HybridKMeansServer(self.kind.study, n_local=n_local, trusted=points, ledger=self.ledger)",
        "server = HybridKMeansServer(self.kind.study, n_local=n_local, trusted=points, random_state=0)",
        ("service/test_unseeded.py",),
    ),
    Bug(
        "server: a result of quantiles shows whether all trusted values are in one bin",
        '{"estimate": published, "answer": str(estimate)},\n            quantiles_page(',
        '{"estimate": published, "one": max(self._trusted(gathered).sums) == gathered.n_trusted},\n'
        "            quantiles_page(",
        ("service/test_noninterference.py",),
    ),
    Bug(
        "server: shares are published with the number of categories that somebody has",
        '{"estimate": published, "answer": str(estimate)},\n            shares_page(',
        '{"estimate": published, "seen": sum(map(bool, self._trusted(gathered).sums))},\n            shares_page(',
        ("service/test_noninterference.py",),
    ),
    # JavaScript
    Bug(
        "js: a window channel that is not private is taken",
        "  ensure(withinOdds(a + b, a, epsilon), `it is not ${epsilon}-private`);\n",
        "",
        JAVASCRIPT,
    ),
    Bug(
        "js: a unary channel's zeros are not counted",
        "const [likely, unlikely] = [BigInt(one) * BigInt(total - zero), BigInt(zero) * BigInt(total - one)];",
        "const [likely, unlikely] = [BigInt(one), BigInt(zero)];",
        JAVASCRIPT,
    ),
    Bug(
        "js: e^ε is rounded up",
        "term = (term * numerator) / (denominator * k)",
        "term = (term * numerator) / (denominator * k) + (term >> 20n)",
        JAVASCRIPT,
    ),
    Bug(
        "js: odds of e^(ε + 0.01) pass",
        "return likely << SHIFT <= unlikely * odds(epsilon);",
        "return 100n * likely << SHIFT <= 101n * unlikely * odds(epsilon);",
        JAVASCRIPT,
    ),
    Bug(
        "js: a channel for another ε than the user was shown is taken",
        "ensure(channel.epsilon === promised, `it is for epsilon ${channel.epsilon}, but ${promised} was promised`);",
        "ensure(!!promised, `it is for epsilon ${channel.epsilon}`);",
        JAVASCRIPT,
    ),
    Bug(
        "js: a report is the true code more often than it says",
        "const inside = Number(u >= below);",
        "const inside = Number(u >= below / 2);",
        JAVASCRIPT,
    ),
    Bug(
        "js: values beyond the bounds stay there",
        "(Math.min(Math.max(value, lower), upper) - lower) * (UNITS / width)",
        "(value - lower) * (UNITS / width)",
        JAVASCRIPT,
    ),
    Bug(
        "js: all bits of a report come from one word",
        "Number(random.getUint32(4 * i, true) < weight)",
        "Number(random.getUint32(0, true) < weight)",
        JAVASCRIPT,
    ),
    Bug(
        "js: the function of a hashed report depends on its key",
        "const drawn = random.getUint32(this.bytesPerReport / 2, true) & (this.#functions - 1);",
        "const drawn = (random.getUint32(this.bytesPerReport / 2, true) ^ key) & (this.#functions - 1);",
        ("js/test/frequency.test.js", *JAVASCRIPT),
    ),
    Bug(
        "js: the pattern of a masked report depends on the bin",
        "const number = this.#pattern(random.getUint32(this.bytesPerReport / 2, true));",
        "const number = this.#pattern((random.getUint32(this.bytesPerReport / 2, true) ^ (bin << 24)) >>> 0);",
        ("js/test/distribution.test.js", *JAVASCRIPT),
    ),
    Bug(
        "js: a set of more codes than the channel's is reported",
        "ones !== this.chosen) {",
        "ones < this.chosen) {",
        ("js/test/frequency.test.js", *JAVASCRIPT),
    ),
    Bug(
        "js: the group of a device in local discovery follows from its item",
        "const group = drawn.getUint32(0, true) % LEVELS.length;",
        "const group = item.length % LEVELS.length;",
        ("js/test/heavy.test.js", *JAVASCRIPT),
    ),
    Bug(
        "js: the variant of an answer to a round follows from the point",
        "const variant = Math.floor((ofVariant * question.variants) / 2 ** 32);",
        "const variant = Math.floor(placed[0]! * ofVariant) % question.variants;",
        ("js/test/kmeans.test.js",),
    ),
    Bug(
        "js: a round's channel may have another ε than the study",
        '  requireThat(channel.epsilon === study.epsilon, "a channel does not have the study\'s epsilon");\n',
        "",
        ("js/test/kmeans.test.js",),
    ),
    Bug(
        "js: random bytes are the same every time",
        "crypto.getRandomValues(new Uint8Array(view.buffer));",
        "new Uint8Array(view.buffer).fill(0x5a);",
        JAVASCRIPT,
    ),
    Bug(
        "js: whoever issues tokens chooses places",
        "await digestOf(`hybriddp place 1\\n${study}\\n${nonce}\\n${subject.normalize()}`)",
        "await digestOf(`hybriddp place 1\\n${study}\\n\\n${subject.normalize()}`)",
        ("js/test/kmeans.test.js", "js/test/kmeans_client.test.js"),
    ),
    Bug(
        "js: the nonce leaves with the enrollment",
        "return JSON.stringify({ digest, commitment: await",
        "return JSON.stringify({ digest, nonce, commitment: await",
        ("js/test/kmeans_client.test.js",),
    ),
    Bug(
        "js: a report is drawn again by the next tab",
        "        if (found) return found; // by whichever tab is first\n",
        "",
        ("js/test/client.test.js", "js/test/indexeddb.test.js", "js/test/protocol.test.js"),
    ),
    Bug(
        "js: a curator who changes whose turn it is is believed",
        "if (entry.turns && !turns.follows(study.parseTurns(entry.turns))) throw",
        "if (!turns) throw",
        ("js/test/kmeans_client.test.js",),
    ),
)
