package lang

import "locklab/internal/sentence"

// Group writes a whole number with its thousands set apart by commas, as in both languages.
func Group(n int64) string { return sentence.Group(n) }

// Thousands sets the thousands of a decimal number apart.
func Thousands(digits string) string { return sentence.Thousands(digits) }
