package lab

import "regexp"

// Said is an error for people: without the sentinels that programs look for, with which its
// clauses end.
func Said(err error) string {
	return regexp.MustCompile(`(?m)(: ([a-z]+: invalid( settings)?|fault: no target|chaos: refused|bad fault))+(;|$)`).ReplaceAllString(err.Error(), "$4")
}
