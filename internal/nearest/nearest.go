// Package nearest guesses which name somebody meant who typed another one.
package nearest

import "strings"

// Hint is the end of a message about an unknown name: "; did you mean NAME?", or nothing.
func Hint(typed string, names []string) string {
	if name := Name(typed, names); name != "" {
		return "; did you mean " + name + "?"
	}
	return ""
}

// Name is the name that somebody who typed another one probably meant: the shortest
// that begins with it, or the one that the fewest changes of single letters lead to; "" if
// that are more than a third of it.
func Name(typed string, names []string) string {
	best, least := "", 0
	for _, name := range names {
		if len(typed) > 2 && strings.HasPrefix(name, typed) && (best == "" || len(name) < len(best)) {
			best = name
		}
	}
	if best != "" {
		return best
	}
	for _, name := range names {
		if n := distance(typed, name); 3*n <= len(name) && (best == "" || n < least) {
			best, least = name, n
		}
	}
	return best
}

// distance is how many letters must be put in, taken out or changed (V. Levenshtein,
// "Binary codes capable of correcting deletions, insertions, and reversals", 1966).
func distance(a, b string) int {
	row := make([]int, len(b)+1) // of the prefixes of b to the prefix of a so far
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
