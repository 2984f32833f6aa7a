package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"batch.example/batch/fault"
	"batch.example/batch/internal/printable"
	"batch.example/batch/internal/regular"
)

// detachLog is the file in a run directory that has the output of a detached command.
const detachLog = "detach.log"

// begunFlag is given to the process that continues without the terminal: the descriptor on which
// it reports that the work has begun.
const begunFlag = "begun-on"

// lastOutput is how long a command that detaches waits for the last output of its process.
const lastOutput = 2 * time.Second

// detaching says how a command continues without the terminal.
type detaching struct {
	asked   bool // by --detach
	begunOn int  // 0: this process is not detached
}

func (d *detaching) add(fs *pflag.FlagSet) {
	fs.BoolVar(&d.asked, "detach", false, "continue without the terminal: return when the work has begun, and say how to watch, wait for\nand stop it")
	fs.IntVar(&d.begunOn, begunFlag, 0, "")
	_ = fs.MarkHidden(begunFlag)
}

// isBegunFlag reports whether an argument is the hidden flag.
func isBegunFlag(arg string) bool { return strings.HasPrefix(arg, "--"+begunFlag+"=") }

// detached starts the command again in a session of its own, and returns when its work has
// begun, or with its exit code. Done is false if this process is to do the work itself.
func (a *app) detached(d detaching, dryRun bool, instances string) (done bool, err error) {
	a.args = slices.DeleteFunc(slices.Clone(a.args), isBegunFlag)
	if !d.asked || d.begunOn != 0 {
		return false, nil
	}
	if dryRun || instances == "-" {
		return true, fault.Newf(fault.Usage, "--detach: there is no terminal for --dry-run, and no standard input for --instances -")
	}
	self, err := os.Executable()
	if err != nil {
		return true, fault.New(fault.Host, "finding the program itself", err)
	}
	args := slices.Insert(slices.Clone(a.args), 1, fmt.Sprintf("--%s=3", begunFlag))
	return true, a.startApart(exec.Command(self, args...))
}

// startApart starts a command in a session of its own, shows its output until its work has
// begun, and then says how to reach it.
func (a *app) startApart(c *exec.Cmd) error {
	begun, begin, err := os.Pipe()
	if err != nil {
		return fault.New(fault.Host, "starting the command without the terminal", err)
	}
	shown, output, err := os.Pipe()
	if err != nil {
		return fault.New(fault.Host, "starting the command without the terminal", errors.Join(err, begun.Close(), begin.Close()))
	}
	defer begun.Close()
	defer shown.Close()
	c.Stdout, c.Stderr, c.ExtraFiles = output, output, []*os.File{begin}
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = c.Start()
	_, _ = begin.Close(), output.Close() // the process has its own
	if err != nil {
		return fault.New(fault.Host, "starting the command without the terminal", err)
	}
	defer stopWith(c.Process)()
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		_, _ = io.Copy(a.stderr, shown) // until the process has its own log
	}()
	dir, err := bufio.NewReader(begun).ReadString('\n')
	select {
	case <-copied:
	case <-time.After(lastOutput):
	}
	if err == nil {
		return a.sayApart(strings.TrimSuffix(dir, "\n"), c.Process.Pid)
	}
	switch err := c.Wait(); {
	case err == nil:
		return nil
	case c.ProcessState.ExitCode() > 0:
		return exited{c.ProcessState.ExitCode()}
	default:
		return fault.New(fault.Host, "the command without the terminal ended", err)
	}
}

// stopWith passes interrupts on to a process, until the returned function is called.
func stopWith(p *os.Process) func() {
	ch := make(chan os.Signal, 1)
	signal.Notify(ch, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		for range ch {
			_ = p.Signal(syscall.SIGTERM) // it may have ended
		}
	}()
	return func() {
		signal.Stop(ch)
		close(ch)
	}
}

// sayApart says how to reach work that continues without the terminal.
func (a *app) sayApart(dir string, pid int) error {
	word := printable.ShellWord(dir)
	_, err := fmt.Fprintf(a.stdout, `the work continues in process %d, without the terminal
  watch  batch ctl %[2]s ps
  wait   batch ctl %[2]s wait
  stop   batch ctl %[2]s stop
  log    %[3]s
`, pid, word, filepath.Join(dir, detachLog))
	return err
}

// leaveTerminal is called by the process of a detached command when its work in dir has begun.
// From now on its output is in the directory.
func (d detaching) leaveTerminal(dir string) error {
	if d.begunOn == 0 {
		return nil
	}
	log, err := regular.OpenFile(filepath.Join(dir, detachLog), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return fault.New(fault.Host, "continuing without the terminal", err)
	}
	defer log.Close()
	report := os.NewFile(uintptr(d.begunOn), "begun")
	_, err = fmt.Fprintln(report, dir)
	for _, std := range []int{1, 2} {
		err = errors.Join(err, unix.Dup2(int(log.Fd()), std))
	}
	return errors.Join(err, report.Close())
}
