// Package sweep shows measurements of locks against the number of peers: as CSV and
// as plots that stand for themselves, one for each figure, with a panel for each
// number of zones. Both axes are logarithmic, so what grows with the peers is a
// straight line, and where two locks cross one can read from how many peers on the
// other one is better.
package sweep
