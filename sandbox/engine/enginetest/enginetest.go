// Package enginetest is the suite that every [engine.Engine] passes: it tests what package
// sandbox relies on. An engine's own tests call [Run], and test everything that the engine does
// beyond the interface.
//
// Its API is not promised to other programs: see package batch.
package enginetest

import (
	"context"
	"crypto/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"batch.example/batch/internal/box"
	again "batch.example/batch/internal/enginetest"
	"batch.example/batch/sandbox/engine"
	"batch.example/batch/vocab"
)

// Tools are this machine's programs that the suite's image has in /usr/bin. The image also
// needs a directory /testbed.
const Tools = "bash cat chmod cp echo env false head id kill ln ls mkdir mkfifo nohup prlimit printf rm setsid sleep sort stty tail " +
	"timeout touch true wc yes"

// Options describe an engine for the suite.
type Options struct {
	// Open connects to the engine, and closes the connection at the end of t. Calls with the same
	// directory, which is empty at first, connect to the same engine, from any process.
	Open func(t testing.TB, dir string) engine.Engine
	// Image returns the name of an image with [Tools]. Make the image in it: Run starts the test again
	// in processes that it kills, which leave what was made before.
	Image func(t testing.TB) string
	// Limits means that the engine limits memory, processors and processes. The suite does not
	// bomb an engine without limits, because that would break the machine.
	Limits bool
	// NoFiles means that the engine refuses the files of a folder, and that the one of the tests cannot mount an
	// image.
	NoFiles bool
}

// suite is one run of the suite.
type suite struct {
	Options

	engine     engine.Engine
	dir, image string
	name       string // of the test that runs it
	run        string // in the labels of its containers
}

// Run runs the suite. The suite removes everything it creates, and fails if something
// stays.
func Run(t *testing.T, o Options) {
	if again.Value() != "" {
		beKilled(t, o)
		return
	}
	e := &suite{Options: o, dir: t.TempDir(), name: t.Name(), run: rand.Text()}
	e.engine = o.Open(t, e.dir)
	e.image = o.Image(t)
	t.Cleanup(func() {
		if left := e.owned(t); len(left) > 0 {
			t.Errorf("left: %+v", left)
		}
	})
	for name, test := range e.tests() {
		t.Run(name, test)
	}
}

func (e *suite) tests() map[string]func(*testing.T) {
	return map[string]func(*testing.T){
		"RunReturnsOutputAndExitCode":                     e.runReturnsOutputAndExitCode,
		"RunDoesWhatBashDoes":                             e.runDoesWhatBashDoes,
		"RunTakesScriptsOfAnySize":                        e.runTakesScriptsOfAnySize,
		"RunKeepsHeadAndTailOfALongOutput":                e.runKeepsHeadAndTailOfALongOutput,
		"RunKillsTheWholeTreeAtTheTimeout":                e.runKillsTheWholeTreeAtTheTimeout,
		"RunDoesNotWaitForABackgroundProcess":             e.runDoesNotWaitForABackgroundProcess,
		"RunReturnsWhatIsWrittenAMomentAfterTheShellsEnd": e.runReturnsWhatIsWrittenAMomentAfterTheShellsEnd,
		"RunEndsWhenCancelled":                            e.runEndsWhenCancelled,
		"ABackgroundProcessSurvivesTheKilledShell":        e.aBackgroundProcessSurvivesTheKilledShell,

		"HostileCommandsDoNotBreakTheContainer":      e.hostileCommandsDoNotBreakTheContainer,
		"ProcessesCannotReadBoxinit":                 e.processesCannotReadBoxinit,
		"ContainersDoNotSeeEachOther":                e.containersDoNotSeeEachOther,
		"FilesAreCopiedInByteForByte":                e.filesAreCopiedInByteForByte,
		"TheFilesOfAProgramAreInTheContainer":        e.theFilesOfAProgramAreInTheContainer,
		"AnUnattendedContainerEndsAfterItsTimeLimit": e.anUnattendedContainerEndsAfterItsTimeLimit,

		"StreamTalksToAProgramInTheContainer": e.streamTalksToAProgramInTheContainer,
		"AStreamCarriesAnyBytes":              e.aStreamCarriesAnyBytes,
		"AProcessReachesTheListener":          e.aProcessReachesTheListener,
		"AStreamEndsWithItsContainer":         e.aStreamEndsWithItsContainer,
		"AStreamNeedsAProgramAndAName":        e.aStreamNeedsAProgramAndAName,

		"ALongOutputIsKeptUntilARunnerReadsIt":      e.aLongOutputIsKeptUntilARunnerReadsIt,
		"TheProgramsOfAKilledProcessOfBatchEnd":     e.theProgramsOfAKilledProcessOfBatchEnd,
		"ContainersOfAKilledProcessAreInherited":    e.containersOfAKilledProcessAreInherited,
		"ContainersOfAKilledProcessAreReaped":       e.containersOfAKilledProcessAreReaped,
		"ContainersOfThisProcessAreItsLeftovers":    e.containersOfThisProcessAreItsLeftovers,
		"CreateLeavesNothingBehindWhenItFails":      e.createLeavesNothingBehindWhenItFails,
		"ACanceledCreateLeavesNothing":              e.aCanceledCreateLeavesNothing,
		"ARemovedContainerIsAFaultNotAnObservation": e.aRemovedContainerIsAFaultNotAnObservation,
		"AboutDescribesTheEngine":                   e.aboutDescribesTheEngine,
	}
}

// start makes a container that is removed at the end of the test.
func (e *suite) start(t testing.TB, s engine.Spec) engine.Container {
	t.Helper()
	return Create(t, e.engine, e.spec(s))
}

// Create makes a container that is removed at the end of the test.
func Create(t testing.TB, e engine.Engine, s engine.Spec) engine.Container {
	t.Helper()
	c, err := e.Create(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Remove(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return c
}

// spec fills in s.
func (e *suite) spec(s engine.Spec) engine.Spec {
	return fill(s, e.image, e.run)
}

func fill(s engine.Spec, image, run string) engine.Spec {
	s.Image = image
	s.Env = append([]string{"PATH=/usr/bin:/bin"}, s.Env...)
	if s.Labels == nil {
		s.Labels = map[string]string{}
	}
	s.Labels[engine.LabelRun] = run
	if s.Unattended == 0 {
		s.Unattended = 5 * time.Minute
	}
	return s
}

// owned are the containers of this run of the suite.
func (e *suite) owned(t testing.TB) []engine.Owned {
	t.Helper()
	all, err := e.engine.Owned(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(all, func(o engine.Owned) bool { return o.Run != e.run })
}

// find returns the engine's description of a container.
func (e *suite) find(t testing.TB, id string) engine.Owned {
	t.Helper()
	all := e.owned(t)
	at := slices.IndexFunc(all, func(o engine.Owned) bool { return o.ID == id })
	if at < 0 {
		t.Fatalf("%s is not among %+v", id, all)
	}
	return all[at]
}

// needLimits skips a test that would harm the machine.
func (e *suite) needLimits(t testing.TB) {
	t.Helper()
	if !e.Limits {
		t.Skip("the engine has no limits")
	}
}

// Enough is a time limit for commands that end by themselves, for a machine of any load.
const Enough = 2 * time.Minute

// Soon cancels after a while, so that a hanging call fails the test.
func Soon(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), Enough)
	t.Cleanup(cancel)
	return ctx
}

// Script runs a script and fails the test on a fault.
func Script(t testing.TB, c engine.Container, script string) vocab.Output {
	t.Helper()
	return Command(t, c, box.Command{Script: script, Timeout: Enough})
}

// Command runs a command and fails the test on a fault.
func Command(t testing.TB, c engine.Container, cmd box.Command) vocab.Output {
	t.Helper()
	r, err := c.Run(t.Context(), cmd)
	if err != nil {
		t.Fatalf("running %.60q: %v", cmd.Script, err)
	}
	return r
}

// Says checks the output of a script.
func Says(t testing.TB, c engine.Container, script, want string) {
	t.Helper()
	if r := Script(t, c, script); string(r.Bytes) != want {
		t.Errorf("%s: got %q, exit code %d; want %q", script, r.Bytes, r.ExitCode, want)
	}
}

// AwaitFile waits until a command has made a file, up to a limit.
func AwaitFile(t testing.TB, c engine.Container, name string) {
	for end := time.Now().Add(Enough); t.Context().Err() == nil && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if r, err := c.Run(t.Context(), box.Command{Script: "[ -e " + name + " ]", Timeout: Enough}); err == nil && r.ExitCode == 0 {
			return
		}
	}
	if t.Context().Err() == nil {
		t.Errorf("no %s after %v", name, Enough)
	}
}

// Processes lists the processes in the container that sleep, write or read, except the helper
// and itself.
func Processes(t testing.TB, c engine.Container) []string {
	t.Helper()
	r := Script(t, c, `for d in /proc/[0-9]*; do
	p=${d#/proc/}; ((p == $$ || p == PPID)) && continue
	IFS= read -r s <$d/stat || continue
	[[ ${s##*) } == Z* ]] && continue
	mapfile -d '' -t a <$d/cmdline
	[[ ${a[*]} == *"builtin read"* || ${a[0]} == batch ]] || echo "${a[*]}"
done 2>/dev/null`)
	var out []string
	for line := range strings.Lines(string(r.Bytes)) {
		if strings.Contains(line, "sleep") || strings.Contains(line, "yes") || strings.Contains(line, "cat") {
			out = append(out, strings.TrimSpace(line))
		}
	}
	return out
}
