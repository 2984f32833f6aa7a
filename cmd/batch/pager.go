package main

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"

	"golang.org/x/term"

	"batch.example/batch/fault"
	"batch.example/batch/internal/progress"
)

// exactly prints bytes as they are; a terminal gets its escapes shown.
func (a *app) exactly(b []byte) error {
	w := a.rows
	if f, ok := progress.TerminalOf(a.stdout); !ok && f != nil {
		w = f
	}
	_, err := w.Write(b)
	if err == nil || errors.Is(err, syscall.EPIPE) {
		return nil
	}
	return fault.New(fault.Host, "writing to standard output", err)
}

// page runs write over standard output: on a terminal through a pager, with its width and
// in colors.
func (a *app) page(direct bool, write func(w io.Writer, width int, color bool) error) error {
	f, ok := progress.TerminalOf(a.stdout)
	if !ok {
		return ignoreClosed(write(a.stdout, 0, false))
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width <= 0 {
		width = 80
	}
	color := a.getenv("NO_COLOR") == "" && a.getenv("TERM") != "dumb"
	if pager := a.pager(); !direct && pager != "" {
		return a.throughPager(pager, f, func(w io.Writer) error { return write(w, width, color) })
	}
	out := a.mask.Writer(f)
	return ignoreClosed(errors.Join(write(out, width, color), out.Flush()))
}

// pager is the command that shows long texts on a terminal; empty is none.
func (a *app) pager() string {
	for _, name := range []string{"BATCH_PAGER", "PAGER"} {
		if pager := strings.TrimSpace(a.getenv(name)); pager == "cat" {
			return ""
		} else if pager != "" {
			return pager
		}
	}
	if _, err := exec.LookPath("less"); err != nil || a.getenv("TERM") == "dumb" {
		return ""
	}
	return "less -FRX"
}

const otherPager = "set BATCH_PAGER to another one, or give --no-pager"

// throughPager runs write into the pager's standard input. The pager ends by itself, also
// when an interrupt is meant for it.
func (a *app) throughPager(pager string, terminal *os.File, write func(io.Writer) error) error {
	c := exec.Command("sh", "-c", pager)
	c.Stdin, c.Stdout, c.Stderr = nil, terminal, terminal
	in, err := c.StdinPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		return fault.New(fault.Usage, "starting the pager "+pager, err).WithHint("%s", otherPager)
	}
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	out := a.mask.Writer(in)
	err = ignoreClosed(errors.Join(write(out), out.Flush()))
	_ = in.Close() // the pager may be gone already
	if failed := c.Wait(); failed != nil && err == nil {
		err = fault.New(fault.Usage, "running the pager "+pager, failed).WithHint("%s", otherPager)
	}
	return err
}

// ignoreClosed drops the error of a reader that has seen enough.
func ignoreClosed(err error) error {
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, fs.ErrClosed) {
		return nil
	}
	return err
}
