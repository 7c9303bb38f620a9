// Package nearest suggests the known name that is closest to a wrong one.
package nearest

import "strings"

// Hint is the end of a message about an unknown name: "; did you mean NAME?", or nothing. It is the shortest name that
// begins with what was typed, or the one that the fewest slips of the keyboard lead to, of at most a third of it.
func Hint(typed string, names []string) string {
	best, least := "", 0
	for _, name := range names {
		if len(typed) > 2 && strings.HasPrefix(name, typed) && (best == "" || len(name) < len(best)) {
			best = name
		}
	}
	if best == "" {
		for _, name := range names {
			if n := distance(typed, name); 3*n <= len(name) && (best == "" || n < least) {
				best, least = name, n
			}
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
}

// distance is how many letters must be put in, taken out, changed, or change places with the next
// (the optimal string alignment of F. Damerau, "A technique for computer detection and correction of
// spelling errors", 1964).
func distance(a, b string) int {
	rows := make([][]int, len(a)+1) // from each prefix of a to each prefix of b
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			change := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			rows[i][j] = min(change, rows[i-1][j]+1, rows[i][j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
