// Package noise tells differences between runs from noise.
//
//	repeats  ──▶ their figures, one value each ──▶ median, interval ──┐
//	one run  ──▶ blocks of its time, drawn anew ─▶ standard error ────┼──▶ Compare ──▶ Holm
//
// # With repeats
//
// The figure of each repeat is one value. The interval is that of the median by order
// statistics, and two runs are compared by the Mann-Whitney U test, which assumes no
// distribution (github.com/aclements/go-moremath). With few repeats no test can show anything:
// of two runs with n repeats each, all of one above all of the other has a chance of
// 2/C(2n,n).
//
// # Without
//
// One run knows only the spread within itself. [Within] cuts its measured part into
// blocks, draws as many of them anew as there are, with repetition, and only in place of
// blocks between the same two moments at which a fault began or ended, and takes the
// standard deviation of the figure over many such draws: the block bootstrap (H. R. Künsch,
// "The jackknife and the bootstrap for general stationary observations", 1989), stratified
// by the faults: the spread of each stratum is that of its own blocks, and a fault of few
// blocks makes the whole less sure. A difference within that spread is noise. One that is larger is not shown
// to be real: what differs between runs and stays in each, such as which peer leads or what
// else the machine had to do, no run sees by itself. So without repeats the outcome is
// noise, or open.
//
// # What no test sees
//
// The repeats of a run follow each other, so what else the machine has to do meets all of
// them. Of runs of one program on a machine that others used too, every third pair
// differed by the test above, with six repeats each. So repeats during which others used more than [Quiet] of the
// CPUs are left out, and what is less than [Drift] of the smaller value is not [Shown].
//
// # Many comparisons
//
// Of a hundred comparisons of what did not change, five would seem to differ by chance at
// the 5 % level. [Holm] corrects for that (S. Holm, "A simple sequentially rejective
// multiple test procedure", 1979): the chance that any of all the comparisons of a page is
// marked, although nothing changed, is at most 5 %.
package noise
