// Package shell finds the commands in a bash script, without running it. [Split] returns simple
// commands in the order in which they are written, also inside of substitutions, subshells, control
// structures, bash -c, eval, xargs and find -exec, in what echo or printf pipes to a shell, and
// behind env, sudo, timeout and similar. Text that is only data is not a command: arguments,
// comments, and here documents of other programs, apart from the substitutions in them.
//
// It never fails: a script with errors of syntax has the commands that could be read. It
// takes time in proportion to the script's length. It does not expand: $NAME stays as it
// is written, unless the same script set NAME before to a plain text.
package shell

// Command is a simple command.
type Command struct {
	// Words are the name and its arguments, without quotes. There may be none, if the command
	// only sets variables or redirects.
	Words     []string
	Assigns   []string // NAME=VALUE before the name
	Redirects []Redirect
	Stdin     string // the here documents and here strings, or what echo or printf pipes to it
	Text      string // as it is written, without here documents
	Dir       string // the argument of the cd before it; empty: none
}

// Redirect is a redirection of a file.
type Redirect struct{ Op, Target string }

// Name returns the command's name without folders; empty for a command without words.
func (c Command) Name() string {
	if len(c.Words) == 0 {
		return ""
	}
	return base(c.Words[0])
}

// Args returns the words after the name.
func (c Command) Args() []string {
	if len(c.Words) == 0 {
		return nil
	}
	return c.Words[1:]
}
