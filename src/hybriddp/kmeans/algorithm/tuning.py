r"""Every constant of the algorithm that was chosen rather than derived, step by step, with what it was chosen on.

None of them bears on privacy: they say how far residuals are clipped, how fine a grid is, and how much is believed. How
many users and how much of ε each step gets is in `plans`. After each constant stands where it comes from:

- *plane*: tuned on two-dimensional mixtures, the layout ``paper`` of ``benchmarks/kmeans_data.py`` and random others;
- *shapes*: tuned on the sets ``tune-…`` of ``benchmarks/kmeans_shape_sets.py``, on a few more in more than three
  dimensions and, so that round clusters do not suffer, on seeds from 500 on of ``paper``, ``paper-pair``,
  ``paper-crowd`` and ``s1``, and from 1000 on of *space* and ``digits``;
- *space*: tuned on mixtures in more dimensions, ``blobs4``, ``blobs8``, ``blobs16`` and ``aniso8`` of that file and a
  few that are not in it;
- *hand*: chosen by hand, mostly to keep a number in its range; there is no record of tuning.

The seeds that were tuned on are not those that ``benchmarks/README.md`` reports. Variances are relative to the mean
squared width of the box.
"""

from dataclasses import dataclass
from fractions import Fraction

from hybriddp.kmeans.statistics import L1_UNIT


@dataclass(frozen=True, slots=True)
class ClipRadius:
    r"""Where residuals of local users are clipped, in standard deviations of a coordinate.

    The smaller, the less noise, and the nearer to a median than to a mean of the cluster.
    """

    signs: float  # each coordinate on its own
    lengths: float  # the length of the residual, in $\sqrt d$ standard deviations


# Which algorithm ------------------------------------------------------------------------------------------------------

MAX_LOW_DIM = 3  # up to so many dimensions a grid covers the whole box; space

# The trusted group's grid is that many times as sharp as the local users': the least with which it takes part, and from
# where on it gets the plans LARGE and DOMINANT; space.
TAKES_PART, LARGE_FROM, DOMINANT_FROM = 0.3, 1.5, 15.0

# Grids: first centers -------------------------------------------------------------------------------------------------

GRID_STARTS = 8  # starts of K-means on the vertices of a grid; hand
GRID_SIZE_ERROR = 0.1  # relative error of a cluster's size that comes from assigning vertices, not users; hand

# A grid on the box, up to three dimensions.
BOX_BALANCE = 2.8  # how far the noise on a vertex stays below its frequency: fewer blur, more drown in noise; shapes
BOX_USERS = Fraction(1, 2)  # of the local users, if their grid is the sharper one; the others refine; plane
MAX_BOX_VERTICES = 4096  # hand
VERTICES_PER_CLUSTER = 4  # at least; hand
LEAST_SD = 0.005  # no cluster is taken to be narrower than this part of the widest dimension; hand
UNSEEN_VARIANCE = 0.1  # of a cluster narrower than the grid, relative to that of rounding to the grid; plane
BOX_STARTS, BOX_DISTANCES = (8, 32), 1 << 17  # of K-means on the vertices: as many as are quick; hand
HAAR_LEVEL, HAAR_LEAST = 0.9, 2.25  # what of the universal threshold is enough, and what is not; shapes
HAAR_FALSE = 0.1  # of the coefficients that pass, as many as noise may have made; shapes
HAAR_MANY = 8  # places that stand out, from which on that is used; shapes

# On a grid of so few vertices, close clusters share some, and to take them for one costs little. A cluster is seen if
# its users exceed so many standard deviations of noise. A start that sees all of its clusters is taken for one that
# does not, if it costs no more than so many of the difference. On finer grids that gives up villages; shapes.
SEEN_VERTICES, SEEN, SEEN_MARGIN = 100, 4.0, 2.0

# A grid on the directions of largest variance, in more dimensions.
DIRECTIONS = 3, 5  # least and most; space and shapes: two are 4 % worse, and three too few for 26 clusters at ε = 7
MAIN_FINE = 6.0  # vertices along each of more than the least directions, as far as noise goes; space and shapes
OVER_SEED = 3  # seeds per cluster: the more, the fewer clusters fall to one seed, and the noisier each is; space
MAIN_BALANCE = 6.0  # as BOX_BALANCE; space
MAIN_REACH = 2.2  # standard deviations that the grid covers to either side of the mean; space
MAIN_VERTICES = 3500  # in all; hand
MAIN_MARGIN = 1.6  # vertices in each direction, relative to the balance: bumps smooth what is too fine; space
MAIN_SIZES = 3, 13  # least and most vertices in each direction; hand
TYPICAL_SYMBOLS = 1000  # of a grid, as far as the variance of a report is concerned; hand
BUMP_SD = 0.3  # of a bump, relative to the standard deviation of an average coordinate; space
BUMP_PENALTY = 1.5  # of the lasso, in standard deviations of noise on a bump; space
BUMP_STEPS = 150  # gradient steps: the weights have converged to a few per cent of the penalty; hand
LEAST_SEED_SIZE = 0.02  # what a seed's size is uncertain or weighs by, relative to the average seed; hand

# Moments of all points ------------------------------------------------------------------------------------------------

# The variance of a coordinate: what is assumed at least, at most, and if nothing is known; space.
LEAST_VARIANCE, MOST_VARIANCE, USUAL_VARIANCE = 0.004, 0.2, 0.03
LEAST_TOTAL, MOST_TOTAL = 0.003, 0.25  # the same for the final trace, per dimension; space
# That a grid covers in a direction: least, relative to an average one; and most, since wider steps blur; space.
MAIN_VARIANCE = 0.5, 0.1
LEAST_REST = 0.3  # of any direction, at least, relative to the average; space
BETWEEN = 0.7  # the part of the variance that is between clusters, a priori; space

# Fractions of the users who are asked for moments; all others are asked for second moments (first for the mean); space.
INITIAL_LENGTHS = Fraction(3, 10)
FINAL_LENGTHS, FINAL_SHIFTS = Fraction(7, 100), Fraction(15, 100)

# Clip radii of squared lengths, in variances of all coordinates together; space.
INITIAL_LENGTH_RADIUS = 8.4  # of the usual variance, about the middle of the box: all of it
INITIAL_SHIFT_RADII = (8.4, 4.0, 2.0, 1.3)  # the same: the largest at which noise stays below INITIAL_SHIFT_NOISE
INITIAL_SHIFT_NOISE = 0.03  # on a coordinate of the mean, relative to the usual variance; space and shapes
LENGTH_RADIUS, SHIFT_RADIUS = 1.7, 0.5
SQUARE_RADII = (3.0, 2.0, 1.2)  # the largest at which noise stays below MOMENT_NOISE

# Clip radii of second moments of the trusted group, relative to their mean size, and the bias that comes with each,
# relative to a variance: the largest at which noise stays below MOMENT_NOISE; space.
MATRIX_RADII = {3.0: 0.03, 2.0: 0.1, 1.2: 0.3}
MOMENT_NOISE = 0.05  # on an entry, relative to a variance; space and shapes
LEAST_SHAPE = 0.1  # the part of the entries that is not taken for noise, at least; hand

# Weak priors, as standard deviations; hand.
USUAL_ERROR = 0.5  # of the usual variance
TOTAL_ERROR = 0.25  # of the first estimate of the total variance
ENTRY_ERROR = 2.0  # of an entry of the covariance, in variances of a coordinate

# Rounds: means of clusters --------------------------------------------------------------------------------------------

GUARD_LEVEL = 0.001  # of the chi-square test that doubts a variance; plane: 5 % is too eager
COUNT_WEIGHT = L1_UNIT // 20  # of a trusted user's contribution, 1 part goes to counts and 20 to sums; space
L1_RADIUS = 0.92  # of a residual in L1, per dimension and standard deviation: 1.15 times its mean; space
LEAST_SIZE = 0.1  # no cluster is taken to be smaller, relative to the average one; hand
MAX_SHIFT = 3.0  # of a center in one round, in standard deviations of a coordinate; hand
MAX_DOUBT = 3.0  # a center's variance widens the radius up to so many variances within a cluster; hand
LEAST_WITHIN = 0.08  # the part of the variance that is within clusters, at least; hand
LEAST_SIGN_RADIUS = 1.2  # signs are clipped halfway to the next center, but not below this; space

# The radii of a round: the largest at which the variance of a shift, relative to that within a cluster, stays below
# SHIFT_NOISE; space.
USUAL_RADIUS = ClipRadius(signs=1.2, lengths=0.7)  # by which the noise of a round is told beforehand; hand
CLIP_RADII = (ClipRadius(2.5, 1.6), ClipRadius(1.7, 1.2), ClipRadius(1.2, 0.7), ClipRadius(0.8, 0.7))
SHIFT_NOISE = 0.01

# Rounds on a box of up to three dimensions: how many, the radii that are tried, in standard deviations about a center
# (plane), and the level of the chi-square test that says what is missing of clipped residuals (shapes).
BOX_ROUNDS = 2
BOX_RADII = (0.8, 1.2, 1.7, 2.5, 3.5, 5.0, 7.0, 10.0)
MISSING_LEVEL = 0.001
LEAST_INSIDE = 0.3  # the part of a shift that clipping leaves, at least; hand

# From which mean squared error of the least certain center on, relative to the mean squared distance of a user to their
# center, an answer is called doubtful: up to three dimensions, and in more; shapes. And if another start was even
# cheaper on a coarse grid, where clusters are overlooked; 200 layouts of four round clusters.
DOUBTFUL = 0.07, 0.15
DOUBTFUL_IF_CONTESTED = 0.012
# And an answer with a center whose size is below so many of its standard errors, or with two that are closer than so
# many steps of the grid on the box: two to four round clusters in boxes up to 100 times too wide, and shapes.
EMPTY, CLOSE_STEPS = 3.0, 1.0

# Lift and merge -------------------------------------------------------------------------------------------------------

LIFT_RADIUS = ClipRadius(signs=1.7, lengths=0.6)  # space
LIFT_SIZE_ERROR = 0.2  # relative: in all dimensions some users are nearer to another center than before; hand
MERGE_STARTS = 8, 200  # least and most, of K-means of the seeds; shapes: 20 miss the best of 26 clusters
MERGE_DISTANCES = 1 << 21  # of all starts together: the most starts for up to 59 clusters, the least from 296; hand
MERGED_VARIANCE = 0.1  # of a merged center, relative to that of a coordinate: large, so that the rounds decide; space
MERGED_SIZE_ERROR = 0.3, 0.1  # of a merged cluster: relative to its size, and to the average one; hand
