package sandbox

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"slices"

	"batch.example/batch/fault"
	"batch.example/batch/vocab"
)

// shells are the interpreters that CheckShell has a command for.
var shells = []string{"sh", "bash", "dash", "ash", "zsh", "ksh"}

// CheckShell executes a command as Execute does, and returns the text that the shell prints
// before the command's output, such as an error about a start file. From then on this text is
// taken off each output. If other text remains, no submission would be recognized, or its
// patch would be changed: the error is an Instance fault. An interpreter that is not a shell
// is not checked. Call CheckShell before the first Execute.
func (s *Sandbox) CheckShell(ctx context.Context) ([]byte, error) {
	if list := s.host.Interpreter; len(list) > 0 && !slices.Contains(shells, path.Base(list[0])) {
		return nil, nil
	}
	first, err := s.preambleOf(ctx, "batch-shell")
	if err != nil || len(first) == 0 {
		return nil, err
	}
	second, err := s.preambleOf(ctx, "batch-shell-again")
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(first, second) {
		return nil, s.noisy(fmt.Sprintf("%.500q, then %.500q", first, second))
	}
	s.preamble = first
	return first, nil
}

// preambleOf returns the text printed before a word. It also starts a program, because the
// loader of programs may also print something.
func (s *Sandbox) preambleOf(ctx context.Context, word string) ([]byte, error) {
	cmd := s.command()
	cmd.Script = "echo " + word + "; ! command -v cat >/dev/null || cat </dev/null"
	out, err := s.execute(ctx, cmd)
	if err == nil && (out.TimedOut || out.OOM) { // perhaps only because the machine is busy
		cmd.Timeout = scriptLimit
		out, err = s.execute(ctx, cmd)
	}
	if err != nil {
		return nil, err
	}
	before, after, found := bytes.Cut(out.Bytes, []byte(word+"\n"))
	switch {
	case out.TimedOut:
		return nil, s.noisy(fmt.Sprintf("no end within %v, output %.500q", out.Timeout, out.Bytes))
	case !found || out.ExitCode != 0:
		return nil, s.noisy(fmt.Sprintf("exit code %d, output %.500q", out.ExitCode, out.Bytes))
	case len(after) > 0:
		return nil, s.noisy(fmt.Sprintf("%.1000q", out.Bytes))
	}
	return before, nil
}

func (s *Sandbox) noisy(what string) error {
	return fault.Newf(fault.Instance, "no submission could be recognized: the shell in image %s does not only print the output of a command, here of echo: %s", s.facts.Image.Ref, what).
		WithHint("check the image's start files, user and environment; environment.env can set BASH_ENV, LC_ALL, LD_PRELOAD or SHELLOPTS to another value")
}

// quiet returns an output without the preamble.
func (s *Sandbox) quiet(out vocab.Output) vocab.Output {
	if rest, had := bytes.CutPrefix(out.Bytes, s.preamble); had {
		out.Bytes = rest
		out.Total -= int64(len(s.preamble))
	}
	return out
}
