package program

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"locklab/locks"
)

// Command starts a program without a shell.
type Command struct {
	Args []string `json:"args"` // the first is the program's path
	Dir  string   `json:"dir"`  // the working directory
}

// ParseCommand splits a command line at blanks outside quotes, and resolves the program once, from PATH
// or the current directory as a shell does. Errors wrap [locks.ErrInvalid].
func ParseCommand(text string) (Command, error) {
	args, err := split(text)
	if err != nil {
		return Command{}, err
	}
	if len(args) == 0 {
		return Command{}, fmt.Errorf("%q has no program: want one such as './client --flag': %w", text, locks.ErrInvalid)
	}
	dir, err := os.Getwd()
	if err != nil {
		return Command{}, fmt.Errorf("find the current directory: %w", err)
	}
	path, err := exec.LookPath(args[0])
	if err != nil {
		return Command{}, fmt.Errorf("%q: want a program that can be run: %w: %w", text, err, locks.ErrInvalid)
	}
	if args[0], err = filepath.Abs(path); err != nil {
		return Command{}, fmt.Errorf("%q: %w", text, err)
	}
	return Command{Args: args, Dir: dir}, nil
}

// String returns the command as a user may type it.
func (c Command) String() string {
	words := make([]string, len(c.Args))
	for i, w := range c.Args {
		if w == "" || strings.ContainsAny(w, " \t\n'\"") {
			w = `"` + strings.NewReplacer(`"`, `"'"'"`).Replace(w) + `"`
		}
		words[i] = w
	}
	return strings.Join(words, " ")
}

// split cuts a text into words. Text between two equal quotes is taken literally.
func split(text string) (words []string, err error) {
	var word strings.Builder
	begun, quote := false, rune(0)
	for _, r := range text {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			begun, quote = true, r
		case r == ' ' || r == '\t' || r == '\n':
			if begun {
				words = append(words, word.String())
			}
			begun = false
			word.Reset()
		default:
			begun = true
			word.WriteRune(r)
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("%q: a %c has no end: want its other one: %w", text, quote, locks.ErrInvalid)
	}
	if begun {
		words = append(words, word.String())
	}
	return words, nil
}
