package main

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/pflag"

	"locklab/reports"
	"locklab/reports/lang"
)

// ofSummary is what --lang means to a command that makes a report.
const ofSummary = "the summary on the console, and of the page whose path it ends with; pages and report.md are always written in both. " +
	"English in both: progress, errors and logs, names of locks, scenarios, faults and columns of files"

// langFlag adds --lang, the language of that. The root says what may be its value.
func langFlag(flags *pflag.FlagSet, tag *string, of string) {
	flags.StringVar(tag, "lang", lang.EnglishTag, "en or ko: language of "+of)
}

// language is what --lang asks for.
func language(tag string) (*lang.Lang, error) {
	say, err := lang.Of(tag)
	if err != nil {
		return nil, fmt.Errorf("--lang %q: %w", tag, err)
	}
	return say, nil
}

// reportLine says where the page is.
func reportLine(say *lang.Lang, dir string) string {
	return say.Sprintf("report: %s", filepath.Join(dir, reports.FileIn(say, reports.PageFile)))
}
