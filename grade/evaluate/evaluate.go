package evaluate

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/grade"
	"batch.example/batch/grade/logparse"
	"batch.example/batch/internal/swebench"
	"batch.example/batch/vocab"
)

// DefaultTimeout is the time limit of the official harness for the tests of an instance.
const DefaultTimeout = 30 * time.Minute

const testbed = "/testbed" // the usual folder of the repository

// outputLimit limits the output of a script that is kept, in bytes: twenty times the longest known
// logs.
const outputLimit = 64 << 20

// Job describes a [Run].
type Job struct {
	InstanceID string
	Workdir    string // absolute path of the repository; empty: /testbed
	BaseCommit string
	// Script is the eval script of the row.
	Script string
	// Command is the command that runs the tests, if it is not in the part of Script between the
	// markers: a family's script may run the tests before it.
	Command string
	// Ran is [Evidence.Ran] of an earlier Run; Run ignores it.
	Ran []Ran
	// TestFiles are the paths that the test patch changes, relative to Workdir.
	TestFiles []string
	// Patch is the prediction. If it is blank, the tests run on the code as it is.
	Patch []byte
	// Without has paths, relative to Workdir, that are restored after the patch is applied. An
	// earlier Run has them in Changes.
	Without []string
	// Gold resolves the instance. Files in Without that it changes are restored to what it makes of
	// them.
	Gold []byte
	// Assets are files that the script needs beside the test patch.
	Assets []Asset
	// Timeout is the limit for the script; 0: [DefaultTimeout].
	Timeout time.Duration
	// Rules selects the chain of commands that apply the patch.
	Rules logparse.Rules
	// Offline says that no package index can be reached: installs by the script fail at once.
	Offline bool
}

// Asset is a file of the tests that a text patch cannot carry, such as an expected image.
type Asset struct {
	Path string // relative to Workdir
	Data []byte
}

// Evidence is the result of a [Run]. All bytes are exact.
type Evidence struct {
	// Applied says that the patch was applied. Otherwise Refused says why not, in one line, and of
	// the following fields only ApplyOutput and RunLog are set.
	Applied     bool
	Refused     string
	How         string // the command that applied it: "git apply --verbose"
	ApplyOutput []byte // of that command, or of the last one that failed

	// Ran has what the processes of the test command read before the tests.
	Ran []Ran
	// Changes are the files that applying the patch changed, sorted by path.
	Changes []Change
	// Written are the files that the script wrote before the tests, if the log is whole.
	Written []Written
	// Lost are the files that the image had changed or added, and that the harness's commands
	// between two tries to apply the patch reset or removed.
	Lost []string

	// Script is eval.sh as it ran.
	Script string
	// Log is the output of the script, with the harness's line at the end if it timed out.
	Log      grade.Log
	TimedOut bool
	// Cut says that the output exceeded the limit, so that Log lacks its middle and must not be
	// graded.
	Cut bool
	// OutOfMemory says that the kernel killed a process of the script because the container ran out
	// of memory. FullDisk says that the processes were killed because the container's files
	// exceeded their limit.
	OutOfMemory bool
	FullDisk    bool

	Apply time.Duration // applying the patch and everything else before the script
	Tests time.Duration // the script

	// RunLog is run_instance.log with the lines of the harness. It is written after Without is left
	// out.
	RunLog []byte
}

// Run executes a job in a box, which must be fresh and cannot be used again. A patch that does not
// apply, failing tests and a timeout are evidence. An error is a fault that says nothing about the
// patch, and comes without evidence.
func Run(ctx context.Context, box Box, job Job) (*Evidence, error) {
	job.Workdir = cmp.Or(job.Workdir, testbed)
	job.Timeout = cmp.Or(job.Timeout, DefaultTimeout)
	r := &runner{
		box: box, job: job, nonce: rand.Text(), e: &Evidence{},
		folder: "/tmp/batch-" + strings.ToLower(rand.Text()[:10]), log: runLog{id: job.InstanceID},
	}
	if len(job.Without) > 0 {
		r.log.info("Left out of the patch: %s", list(job.Without))
	}
	if err := r.run(ctx); err != nil {
		return nil, fmt.Errorf("grading %s: %w", job.InstanceID, err)
	}
	r.e.RunLog = r.log.b.Bytes()
	return r.e, nil
}

// runner is the state of one Run.
type runner struct {
	box    Box
	job    Job
	nonce  string   // of the markers
	folder string   // of our files in the box
	first  []string // folders where Python looks for modules first
	e      *Evidence
	log    runLog
}

func (r *runner) run(ctx context.Context) error {
	began := time.Now()
	if err := r.prepare(ctx); err != nil || !r.e.Applied {
		r.e.Apply = time.Since(began)
		return err
	}
	before := slices.Concat(copies(r.folder, r.job.Assets), r.restores(), r.watch(watchSecond))
	s := compose(r.job.Script, r.nonce, r.watch(watchFirst), before)
	r.e.Script = s.text
	file := r.folder + "/eval.sh"
	if err := r.box.Write(ctx, file, 0o755, []byte(s.text)); err != nil {
		return err
	}
	r.log.info("Eval script for %s written to %s", r.job.InstanceID, file)
	r.e.Apply = time.Since(began)
	out, err := r.box.Run(ctx, vocab.Command{Script: evalCommand(file, r.job.Offline), Dir: r.job.Workdir, Timeout: r.job.Timeout, Limit: outputLimit})
	if err != nil {
		return err
	}
	r.take(out, s.coded)
	return nil
}

// prepare applies the patch and puts everything else in place.
func (r *runner) prepare(ctx context.Context) (err error) {
	if r.e.Ran, r.first, err = r.starts(ctx); err != nil {
		return err
	}
	if err := r.applyPatch(ctx); err != nil || !r.e.Applied {
		return err
	}
	diff, err := r.setup(ctx, safely+"-c core.fileMode=false diff")
	if err != nil {
		return err
	}
	r.log.diff("before", diff.Bytes)
	for i, a := range r.job.Assets {
		if err := r.box.Write(ctx, assetFile(r.folder, i), 0o644, a.Data); err != nil {
			return err
		}
	}
	return r.reset(ctx)
}

// checkRepository makes sure that a later failure to apply the patch is the patch's own.
func (r *runner) checkRepository(ctx context.Context) error {
	out, err := r.setup(ctx, safely+"rev-parse --is-inside-work-tree")
	if err == nil && out.ExitCode != 0 {
		err = fault.Newf(fault.Instance, "the image has no git repository in %s: %s", r.job.Workdir, reason(out.Bytes))
	}
	return err
}

func (r *runner) applyPatch(ctx context.Context) error {
	if len(bytes.TrimSpace(r.job.Patch)) == 0 {
		r.e.Applied = true
		return nil
	}
	file := r.folder + "/patch.diff"
	if err := r.box.Write(ctx, file, 0o644, r.job.Patch); err != nil {
		return err
	}
	r.log.info("Intermediate patch for %s written to %s, now applying to container...", r.job.InstanceID, file)
	return r.apply(ctx, file)
}

func (r *runner) refuse(why string) {
	r.e.Refused = why
	r.log.notApplied(why, r.e.ApplyOutput)
}

// take stores the result of the script.
func (r *runner) take(out vocab.Output, coded bool) {
	r.e.Tests, r.e.TimedOut = out.Duration, out.TimedOut
	r.e.Cut = out.Total > int64(len(out.Bytes))
	r.e.OutOfMemory, r.e.FullDisk = out.OOM, out.Disk != nil
	r.e.Log.Nonce = r.nonce
	r.e.Log.Text, r.e.Written = r.watched(out.Bytes)
	r.log.info("Test runtime: %.2f seconds", out.Duration.Seconds())
	if out.TimedOut {
		seconds := strconv.FormatFloat(r.job.Timeout.Seconds(), 'f', -1, 64)
		r.e.Log.Text = fmt.Appendf(r.e.Log.Text, "\n\nTimeout error: %s seconds exceeded.", seconds)
		r.log.info("Test timed out after %s seconds.", seconds)
		return
	}
	if coded {
		r.e.Log.ExitCode = &out.ExitCode
	}
}

// Box is a fresh container of an instance's image. Nothing has run in it before.
type Box interface {
	// Write writes a file with exactly these bytes as the user who runs the tests, and
	// creates missing directories. The name is absolute.
	Write(ctx context.Context, name string, mode fs.FileMode, data []byte) error
	// Run runs a script in bash, with an empty stdin and with stdout and stderr in one pipe. The
	// output says whether the script failed, timed out, or was killed by the kernel. An error means
	// that the container, the engine or ctx prevented an output.
	Run(ctx context.Context, c vocab.Command) (vocab.Output, error)
}

// runLog writes run_instance.log with the harness's form and lines, since other tools search for
// them.
type runLog struct {
	b  bytes.Buffer
	id string
}

// appliedText is the harness's text.
const appliedText = ">>>>> Applied Patch"

func (l *runLog) info(format string, args ...any) {
	now := time.Now().Format("2006-01-02 15:04:05.000")
	fmt.Fprintf(&l.b, "%s - INFO - %s\n", strings.Replace(now, ".", ",", 1), fmt.Sprintf(format, args...))
}

func (l *runLog) applied(output []byte) { l.info("%s:\n%s", appliedText, output) }

func (l *runLog) failed(command string) { l.info("Failed to apply patch to container: %s", command) }

func (l *runLog) notApplied(why string, output []byte) {
	l.info("%s: %s", l.id, why)
	l.info("%s:\n%s", swebench.ApplyFailed, output)
}

func (l *runLog) diff(when string, diff []byte) {
	l.info("Git diff %s:\n%s", when, bytes.TrimSpace(diff))
}
