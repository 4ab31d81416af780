"""The parts algorithms are composed of, each against sums worked out by hand."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rapo.algorithms import ALGORITHMS, find_algorithm
from rapo.algorithms.counts import Everything, Worst
from rapo.algorithms.draws import Ensemble, Nominal, Uniform
from rapo.algorithms.mixture import Boltzmann, Fixed
from rapo.algorithms.rarl import Pusher
from rapo.algorithms.spec import Steps, Trajectories, ValuedBranches
from rapo.algorithms.targets import Mean, Robust, Taken
from rapo.algorithms.temperature import Adaptive, AdvNet, Exact
from rapo.errors import InputError
from rapo.learner.budget import Budget
from rapo.learner.ppo_update import PpoSettings
from rapo.world.find_task import make_task

KEY = jax.random.key(0)


def steps(branches=True, progress=0.0, **changes):
    """Two pairs, two models, discount 1/2: G is [[1 + 4/2, 2 + 8/2], [3, 5 + 2/2]] = [[3, 6], [3, 6]]."""
    made = ValuedBranches(
        reward=jnp.array([[1.0, 2.0], [3.0, 5.0]]),
        terminated=jnp.array([[False, False], [True, False]]),
        next_value=jnp.array([[4.0, 8.0], [100.0, 2.0]]),
        valid=jnp.ones((2, 2), bool),
        shares=jnp.full((2, 2), 0.5),
    )._replace(**changes)
    return Steps(
        inputs=jnp.zeros((2, 3)),
        value=jnp.array([1.0, 2.0]),
        reward=jnp.array([10.0, 20.0]),
        terminated=jnp.array([False, True]),
        next_value=jnp.array([2.0, 6.0]),
        played=jnp.array([[False, True], [False, True]]),
        weights=jnp.full(2, 0.5),
        branches=made if branches else None,
        learned=None,
        centring=None,
        critic_norm=jnp.ones(()),
        reward_scale=jnp.ones(()),
        discount=0.5,
        progress=jnp.asarray(progress),
    )


class TestDraws:
    dynamics = make_task("hopper").dynamics

    def test_nominal_plays_the_nominal_model(self):
        models, prior = Nominal().ensemble(self.dynamics, np.random.default_rng(0))
        np.testing.assert_array_equal(models, self.dynamics.nominal())
        assert prior.tolist() == [1.0]
        assert Nominal().fresh(self.dynamics, models, prior) is None

    def test_uniform_fills_the_training_ranges(self):
        fresh = Uniform().fresh(self.dynamics, self.dynamics.nominal(), np.ones(1))
        assert fresh is not None
        rows = fresh(1000, np.random.default_rng(0))
        low, high = self.dynamics.box("train")
        assert (rows >= low).all()
        assert (rows <= high).all()
        np.testing.assert_allclose(rows.std(axis=0), (high - low) / 12**0.5, rtol=0.1)

    def test_a_mixture_plays_each_model_by_its_weight(self):
        draws = Ensemble(models=4)
        models, prior = draws.ensemble(self.dynamics, np.random.default_rng(0))
        assert prior.tolist() == [0.25] * 4
        fresh = draws.fresh(self.dynamics, models, np.array([0.5, 0.5, 0.0, 0.0]))
        assert fresh is not None
        rows = fresh(1000, np.random.default_rng(0))
        played = [(rows == model).all(axis=1).mean() for model in models]
        assert played[0] == pytest.approx(0.5, abs=0.05)
        assert played[0] + played[1] == 1

    def test_an_ensemble_can_be_rolled_out_in_the_nominal_model(self):
        assert Ensemble(rollout="nominal").fresh(self.dynamics, np.ones((1, 4)), np.ones(1)) is None

    @pytest.mark.parametrize(
        ("prior", "says"),
        [
            ((0.5, 0.5), "option prior has 2 weights with sum 1: allowed are as many weights as there are"),
            ((0.5, 0.6, -0.1), "option prior is 0.5,0.6,-0.1: allowed are numbers from 0 to 1"),
            ((0.5, 0.3, 0.3), "option prior has 3 weights with sum 1.1: allowed are as many weights"),
        ],
    )
    def test_a_prior_is_a_distribution_over_the_models(self, prior, says):
        with pytest.raises(InputError, match=says):
            Ensemble(models=3, prior=prior)
        assert (
            Ensemble(models=2, prior=(0.9, 0.1)).ensemble(self.dynamics, np.random.default_rng(0))[1][0]
            == 0.9
        )


class TestTargets:
    def test_taken_is_the_step_that_was_taken(self):
        # 10 + 2/2, and 20 alone, for it terminated.
        np.testing.assert_allclose(Taken()((), steps(branches=False))[0], [11.0, 20.0])

    def test_mean_is_the_mean_over_the_models(self):
        np.testing.assert_allclose(Mean()((), steps())[0], [4.5, 4.5])
        shares = jnp.array([[0.25, 0.75], [1.0, 0.0]])
        np.testing.assert_allclose(Mean()((), steps(shares=shares))[0], [5.25, 3.0])

    def test_the_papers_form_has_the_reward_and_the_end_of_the_step_taken(self):
        # 10 + [4, 8]/2 -> mean 13; the second terminated: 20.
        np.testing.assert_allclose(Mean(branch_value="paper")((), steps())[0], [13.0, 20.0])

    def test_branches_that_failed_leave_their_weight_to_the_others(self):
        valid = jnp.array([[False, True], [False, False]])
        # One left: 6. None left: the step taken, 20.
        np.testing.assert_allclose(Mean()((), steps(valid=valid))[0], [6.0, 20.0])
        target, _, _ = Robust(temperature=Exact())((), steps(valid=valid))
        np.testing.assert_allclose(target, [6.0, 20.0])

    def test_robust_targets_lie_between_minimum_and_mean_and_use_the_budget(self):
        part = Robust(temperature=Exact(), epsilon=Budget(0.1))
        target, _, report = part((), steps())
        # q on the worse of two equally likely values with KL(q || 1/2) = 0.1 is 0.7200: 3 q + 6 (1 - q).
        np.testing.assert_allclose(target, [3.840, 3.840], atol=2e-3)
        assert float(report["kl"]) == pytest.approx(0.1, abs=1e-5)
        assert float(report["duality_gap"]) == pytest.approx(0, abs=1e-4)
        assert float(report["branch_spread"]) == pytest.approx(1.5)
        assert float(report["robust_gap"]) == pytest.approx(4.5 - 3.840, abs=2e-3)

    def test_the_tilt_can_be_taken_off_the_step_that_was_taken(self):
        part = Robust(temperature=Exact(), epsilon=Budget(0.1), around="taken")
        target, _, report = part((), steps())
        # The steps taken are worth 11 and 20; the tilt takes 4.5 - 3.840 off the mean of the branches.
        np.testing.assert_allclose(target, [11 - 0.660, 20 - 0.660], atol=2e-3)
        assert float(report["robust_gap"]) == pytest.approx(0.660, abs=2e-3)
        valid = jnp.array([[False, True], [False, False]])  # one branch left, or none: nothing to tilt
        np.testing.assert_allclose(part((), steps(valid=valid))[0], [11.0, 20.0])

    def test_a_budget_of_nothing_gives_the_mean_and_a_large_one_the_minimum(self):
        for epsilon, expected in ((0.0, 4.5), (5.0, 3.0)):
            for temperature in (Exact(), AdvNet(projection="tight")):
                part = Robust(temperature=temperature, epsilon=Budget(epsilon))
                target, _, _ = part(part.init(KEY, 2, 1), steps())
                np.testing.assert_allclose(target, [expected] * 2, rtol=1e-5)

    def test_a_budget_can_ramp(self):
        part = Robust(temperature=Exact(), epsilon=Budget(0.0, 0.2, 0.5))
        used = [float(part((), steps(progress=p))[2]["kl"]) for p in (0.0, 0.25, 0.5, 1.0)]
        np.testing.assert_allclose(used, [0, 0.1, 0.2, 0.2], atol=1e-5)

    def test_the_hard_minimum_and_the_mean_can_be_chosen(self):
        minimum, mean = (Robust(temperature=Exact(), target=target) for target in ("hard-min", "mean"))
        np.testing.assert_allclose(minimum((), steps())[0], [3.0] * 2)
        np.testing.assert_allclose(mean((), steps())[0], [4.5] * 2)

    def test_advnet_never_exceeds_the_budget_under_the_feasible_projection(self):
        part = Robust(temperature=AdvNet(advnet_steps=200, advnet_rate=0.1), epsilon=Budget(0.05))
        state = part.init(KEY, 2, 1)
        call = jax.jit(part)
        used = []
        for _ in range(4):
            _, state, report = call(state, steps())
            used.append(float(report["kl"]))
        assert used[0] < 0.02
        assert max(used) <= 0.05 + 1e-5
        assert used[-1] == pytest.approx(0.05, rel=0.05)

    def test_advnet_can_be_kept_from_seeing_the_action(self):
        for sees, size in ((True, 3), (False, 2)):
            part = Robust(temperature=AdvNet(advnet_action=sees))
            layers, _ = part.init(KEY, 2, 1)
            assert layers[0]["kernel"].shape[0] == size
            assert part(part.init(KEY, 2, 1), steps())[0].shape == (2,)

    def test_one_adaptive_temperature_meets_the_budget_in_the_end(self):
        part = Robust(temperature=Adaptive(adapt_rate=5.0), epsilon=Budget(0.1))
        state, used = part.init(KEY, 2, 1), 0.0
        call = jax.jit(part)
        for _ in range(200):
            _, state, report = call(state, steps())
            used = float(report["kl"])
        assert used == pytest.approx(0.1, rel=0.05)

    def test_few_iterations_of_the_root_finder_need_not_meet_the_budget(self):
        values = jnp.array([[0.0, 100.0], [1.0, 1.5]])
        seen = steps(reward=values, terminated=jnp.ones((2, 2), bool), shares=jnp.array([[0.01, 0.99]] * 2))
        exact, few = (Robust(temperature=Exact(i), epsilon=Budget(3.0))((), seen)[2] for i in (24, 1))
        assert float(exact["kl"]) == pytest.approx(3.0, rel=1e-4)
        assert abs(float(few["kl"]) - 3.0) > 0.1

    def test_samples_share_a_row_among_the_models_that_were_drawn(self):
        weights = jnp.array([0.5, 0.5, 0.0])
        shares = Mean(samples=4).shares(np.random.default_rng(0), weights, 100)
        assert shares is not None
        np.testing.assert_allclose(shares.sum(axis=1), 1)
        assert set(np.unique(shares)) <= {0, 0.25, 0.5, 0.75, 1}
        assert float(shares[:, 2].max()) == 0
        everything = Mean().shares(np.random.default_rng(0), weights, 5)
        assert everything is not None
        np.testing.assert_array_equal(everything, np.tile(weights, (5, 1)))

    def test_the_correction_lowers_the_entropic_risk(self):
        plain = Robust(samples=4, target="soft", temperature=Exact())
        corrected = replace(plain, correction=0.1)
        assert (corrected((), steps())[0] < plain((), steps())[0]).all()
        with pytest.raises(InputError, match=r"correction is 0\.1 with target tilted and samples 4"):
            Robust(correction=0.1, samples=4)
        with pytest.raises(InputError, match=r"correction is 0\.1 with target soft and samples all"):
            Robust(correction=0.1, target="soft")


class TestCounts:
    def trajectories(self, progress):
        worth = jnp.broadcast_to(jnp.arange(10.0), (3, 10))
        return Trajectories(worth, jnp.zeros((3, 10), bool), jnp.asarray(progress))

    def test_everything_counts(self):
        assert Everything()(self.trajectories(0.9)).sum() == 30

    def test_epopt_counts_everything_first_and_then_the_worst(self):
        part = Worst(fraction=0.2, warm_up=0.5)
        assert part(self.trajectories(0.4)).sum() == 30
        kept = np.asarray(part(self.trajectories(0.5)))
        np.testing.assert_array_equal(kept, np.broadcast_to(np.arange(10) < 2, (3, 10)))


class TestMixture:
    prior = jnp.full(2, 0.5)

    def test_a_fixed_mixture_stays(self):
        part = Fixed()
        mixture, report = part(part.init(self.prior), steps())
        np.testing.assert_array_equal(mixture.weights, self.prior)
        assert float(report["mixture_entropy"]) == pytest.approx(np.log(2))
        assert part.scored(100) == 0

    def test_the_model_with_the_lower_score_gains_what_the_budget_allows(self):
        part = Boltzmann(kappa=Budget(0.1))
        mixture, report = part(part.init(self.prior), steps())
        # Mean branch values are 3 and 6; KL(w || 1/2) = 0.1 puts 0.720 on the first.
        np.testing.assert_allclose(mixture.weights, [0.720, 0.280], atol=1e-3)
        assert float(report["mixture_kl"]) == pytest.approx(0.1, abs=1e-4)
        assert float(report["beta"]) > 0

    @pytest.mark.parametrize(
        ("score", "values"),
        [("value", [4 / 2, (8 + 2) / 2]), ("branch", [3, 6]), ("advantage", [1.5, 4.5])],
    )
    def test_models_are_scored_by_value_by_branch_or_by_advantage(self, score, values):
        part = Boltzmann(score=score, score_rate=1.0)
        mixture, _ = part(part.init(self.prior), steps())
        np.testing.assert_allclose(mixture.memory[0].average, values)

    def test_only_rows_in_which_every_model_was_simulated_are_scored(self):
        part = Boltzmann(score_rate=1.0)
        seen = steps(
            valid=jnp.array([[True, True], [True, False]]), next_value=jnp.array([[4.0, 8.0], [0.0, -1e6]])
        )
        np.testing.assert_allclose(part(part.init(self.prior), seen)[0].memory[0].average, [3.0, 6.0])

    def test_models_are_scored_by_the_episodes_played_under_them_and_that_takes_no_branches(self):
        part = Boltzmann(kappa=Budget(0.1), score="played", score_rate=1.0)
        first, _ = part(part.init(self.prior), steps(branches=False))
        # Both steps were taken under the second model: (10 + 2 / 2 + 20) / 2. The first has the same, unseen.
        np.testing.assert_allclose(first.memory[0].average, [15.5, 15.5])
        np.testing.assert_allclose(first.weights, self.prior)
        other = steps(branches=False)._replace(played=jnp.array([[True, False], [False, False]]))
        mixture, _ = part(first, other)
        np.testing.assert_allclose(mixture.memory[0].average, [11.0, 15.5])
        np.testing.assert_allclose(mixture.weights, [0.720, 0.280], atol=1e-3)  # KL(w || 1/2) = 0.1
        assert part.scored(100) == 0

    def test_weights_move_no_faster_than_allowed(self):
        part = Boltzmann(kappa=Budget(10.0), fastest=0.1)
        mixture, _ = part(part.init(self.prior), steps())
        np.testing.assert_allclose(mixture.weights, [0.6, 0.4], atol=1e-6)

    def test_an_adaptive_mixture_meets_its_budget_in_the_end(self):
        part = Boltzmann(kappa=Budget(0.1), mixture_adapts=5.0)
        mixture, report = part.init(self.prior), {}
        call = jax.jit(part)
        for _ in range(200):
            mixture, report = call(mixture, steps())
        assert float(report["mixture_kl"]) == pytest.approx(0.1, rel=0.05)


class TestPusher:
    def test_turns_alternate(self):
        assert [Pusher(policy_turn=2, pusher_turn=1).learns(i) for i in range(6)] == [False, False, True] * 2
        assert not any(Pusher(pusher_turn=0).learns(i) for i in range(6))

    def test_forces_stay_within_a_share_of_the_weight(self):
        task = make_task("walker2d")
        applied = Pusher(strength=0.1).forces(task, np.full((3, 4), 1e6, np.float32))
        assert applied.shape == (3, 2, 6)
        assert np.abs(applied).max() == pytest.approx(0.1 * task.model.body_mass.sum() * 9.81)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Ensemble(models=0), "option models is 0: allowed are whole numbers from 1"),
        (lambda: Mean(samples=0), "option samples is 0: allowed are whole numbers from 1"),
        (
            lambda: Robust(epsilon=Budget(-0.1)),
            "the KL budget's start is -0.1: allowed are numbers from 0 to 1e",
        ),
        (lambda: Boltzmann(kappa=Budget(float("nan"))), "the KL budget's start is nan"),
        (lambda: Boltzmann(score_rate=0.0), "option score_rate is 0: allowed are numbers above 0, up to 1"),
        (lambda: Boltzmann(fastest=1.5), "option fastest is 1.5"),
        (lambda: Boltzmann(scored_rows=0), "option scored_rows is 0: allowed are whole numbers from 1"),
        (lambda: Worst(fraction=0.0), "option fraction is 0: allowed are numbers above 0, up to 1"),
        (lambda: Worst(warm_up=-0.5), "option warm_up is -0.5: allowed are numbers from 0 to 1"),
        (lambda: Pusher(strength=-1.0), "option strength is -1: allowed are numbers from 0 to 1e"),
        (lambda: Pusher(strength=float("inf")), "option strength is inf"),
        (lambda: Pusher(policy_turn=0), "option policy_turn is 0: allowed are whole numbers from 1"),
        (lambda: Pusher(pusher_turn=-1), "option pusher_turn is -1: allowed are whole numbers from 0"),
        (lambda: Robust(correction=1.0, samples=4, target="soft"), "numbers above 0 and below 1"),
        (lambda: Exact(0), "option iterations is 0: allowed are whole numbers from 1"),
        (lambda: AdvNet(advnet_steps=0), "option advnet_steps is 0"),
        (lambda: Adaptive(adapt_rate=0.0), "option adapt_rate is 0: allowed are numbers above 0, up to 1e"),
        (lambda: Adaptive(adapt_rate=float("inf")), "option adapt_rate is inf"),
        (lambda: Boltzmann(mixture_adapts=float("inf")), "option mixture_adapts is inf"),
        (lambda: find_algorithm("rappo"), "unknown algorithm 'rappo': did you mean 'rapo'"),
    ],
)
def test_impossible_parts_are_refused_in_a_sentence(make, says):
    with pytest.raises(InputError, match=says):
        make()


def test_every_algorithm_is_known_by_its_name_and_can_be_hashed():
    names = (
        "rapo rapo-no-advnet random-kernel rapo-mixture rapo-no-boltzmann rapo-no-tilt rapo-no-both "
        "rapo-paper rapo-paper-no-advnet rapo-paper-no-boltzmann rapo-exact rapo-mean rnac rnac-norm "
        "ewok ppo ppo-dr epopt rarl"
    )
    assert list(ALGORITHMS) == names.split()
    assert all(a.name == name and a.summary and hash(a) for name, a in ALGORITHMS.items())


def test_parts_of_the_same_settings_are_equal_and_hash_alike_as_compiled_calls_need():
    for first, second in (
        (Robust(samples=4), Robust(samples=4)),
        (Boltzmann(mixture_adapts=0.5), Boltzmann(mixture_adapts=0.5)),
        (Worst(), Worst()),
        (Pusher(), Pusher()),
        (Ensemble(prior=(1.0,), models=1), Ensemble(prior=(1.0,), models=1)),
        (PpoSettings(), PpoSettings()),
    ):
        assert first == second
        assert hash(first) == hash(second)
    assert Robust(samples=4) != Robust(samples=5)
