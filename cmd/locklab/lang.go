package main

import (
	"fmt"

	"github.com/spf13/pflag"

	"locklab/reports/lang"
)

// ofSummary is what --lang means to a command that makes a report.
const ofSummary = "the summary"

// langFlag adds --lang, the language of that. The root says what may be its value.
func langFlag(flags *pflag.FlagSet, tag *string, of string) {
	flags.StringVar(tag, "lang", lang.EnglishTag, "language of "+of+": en or ko")
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
	return say.Sprintf("report: %s", pagePath(say, dir))
}
