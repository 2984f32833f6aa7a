package sandbox

import (
	"bytes"
	"context"
	"io/fs"
	"log/slog"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/dataset"
	"batch.example/batch/docker"
	"batch.example/batch/fault"
	"batch.example/batch/internal/box"
	"batch.example/batch/internal/boxgit"
	"batch.example/batch/internal/tier"
	"batch.example/batch/sandbox/engine"
	"batch.example/batch/sandbox/images"
	"batch.example/batch/vocab"
)

// futureImage makes an image that has the solution on another branch, and returns the
// id of its commit.
func futureImage(t *testing.T, s *Host, name string) string {
	t.Helper()
	c, err := s.sites[0].engine.Create(t.Context(), engine.Spec{Image: "batch-demo/demo__slug-1:latest", WorkDir: "/testbed", Unattended: 5 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Remove(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	r, err := c.Run(t.Context(), box.Command{Timeout: time.Minute, Script: `cd /testbed && git checkout -q -b ahead &&
echo s > solution && git add . && git -c user.name=t -c user.email=t@localhost commit -qm ahead && git rev-parse HEAD && git checkout -q -`})
	if err != nil || r.ExitCode != 0 {
		t.Fatalf("got %+v, %v; want exit code 0, no error", r, err)
	}
	if out, err := exec.CommandContext(t.Context(), "docker", "commit", c.ID(), name).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Cleanup(func() {
		if err := s.sites[0].engine.(docker.Sandboxes).RemoveImage(context.Background(), name); err != nil {
			t.Error(err)
		}
	})
	return strings.TrimSpace(string(r.Bytes))
}

// A history that several instances need is scrubbed once, in a container without the run's
// settings.
func TestContainersShareAScrub(t *testing.T) {
	name := ownImage()
	var log bytes.Buffer
	s := testHost(t, func(c *Config) {
		c.Env, c.Container.Env = []string{"LEAKED=x"}, []string{"LEAKED2=x"}
		c.Container.CPUs, c.MaxCPUs = 10_000, 10_000 // more than an engine has
		c.Log = slog.New(slog.NewTextHandler(&log, nil))
	})
	s.ShareScrubs = true
	future := futureImage(t, s, name)
	s.sites[0].images.Plan([]images.Need{{ID: "a", Ref: name}, {ID: "b", Ref: name}, {ID: "c", Ref: name}})
	var boxes []*Sandbox
	for _, id := range []string{"a", "b", "c"} {
		boxes = append(boxes, s.open(t, Opening{Instance: dataset.Instance{ID: id, Image: name}}))
	}
	volume := boxes[0].scrub.history.volume
	var all sync.WaitGroup
	for _, b := range boxes[:2] {
		all.Go(func() {
			if b.ShareScrub(t.Context()) {
				t.Error("clean, want a history to scrub")
			}
			scrubHere(t, b, future)
			if out, err := b.Script(t.Context(), "cat .git/objects/info/alternates; git cat-file -t HEAD; touch "+boxgit.Shared+"/x"); err != nil ||
				!strings.Contains(string(out.Bytes), boxgit.Shared+"/testbed/.git/objects\ncommit\n") || out.ExitCode == 0 {
				t.Errorf("got %+v, %v; want borrowed objects, and a folder that cannot be written", out, err)
			}
		})
	}
	all.Wait()
	if strings.Count(log.String(), "scrubbed a git history for several containers") != 1 {
		t.Errorf("log %s; want one scrub for several containers", log.String())
	}
	// Without the outcome of another sandbox, the sandbox does all the work.
	scrubHere(t, boxes[2], future)
	for _, b := range boxes {
		s.remove(t, b)
	}
	if left := volumes(t); strings.Contains(left, volume) {
		t.Errorf("volume %s is left", volume)
	}
	note, noted := s.sites[0].images.Note(boxes[0].scrub.key)
	if !noted || note.Clean || note.Seconds == 0 {
		t.Errorf("noted %+v, %v; want a time; log %s", note, noted, log.String())
	}
}

// scrubHere scrubs the sandbox's own repository, and checks the outcome.
func scrubHere(t *testing.T, b *Sandbox, future string) {
	t.Helper()
	out, err := b.Script(t.Context(), boxgit.Command("", boxgit.Scrub))
	if err != nil || out.ExitCode != 0 || !strings.Contains(string(out.Bytes), "gitscrub: scrubbed") {
		t.Errorf("got %+v, %v; want it scrubbed", out, err)
	}
	out, err = b.Script(t.Context(), "git fsck --full && git log --oneline --all && git cat-file -e "+future)
	if err != nil || out.ExitCode == 0 || strings.Contains(string(out.Bytes), "ahead") || strings.Contains(string(out.Bytes), "LEAKED") {
		t.Errorf("got %+v, %v; want a history without the future commit", out, err)
	}
}

// volumes lists the engine's volumes.
func volumes(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "docker", "volume", "ls", "-q").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// A container has a volume only if others need the same history and the scrub is not known
// to be fast.
func TestAScrubIsSharedOnlyWhereThatPays(t *testing.T) {
	tier.Rest(t)
	name := ownImage()
	s := testHost(t, nil)
	s.ShareScrubs = true
	futureImage(t, s, name)
	o := Opening{Instance: dataset.Instance{ID: "a", Image: name}}
	for _, c := range []struct {
		sharing int
		note    images.Note
		known   bool
		shared  bool
	}{
		{sharing: 1},
		{sharing: 2, shared: true},
		{sharing: 1, note: images.Note{Seconds: 60}},
		{sharing: 2, note: images.Note{Seconds: 60}, shared: true},
		{sharing: 2, note: images.Note{Seconds: 0.01}},
		{sharing: 2, note: images.Note{Clean: true, Seconds: 60}, known: true},
	} {
		var needs []images.Need
		for i := range c.sharing {
			needs = append(needs, images.Need{ID: strings.Repeat("a", i+1), Ref: name})
		}
		s.sites[0].images.Plan(needs)
		if c.note.Seconds > 0 {
			image, _, err := s.sites[0].engine.(docker.Sandboxes).Image(t.Context(), name, "")
			if err != nil {
				t.Fatal(err)
			}
			if err := s.sites[0].images.Remember(s.scrubKey(images.Image{Image: image.Image}, o.Instance.BaseCommit), c.note); err != nil {
				t.Fatal(err)
			}
		}
		b := s.open(t, o)
		if b.Facts().Known != c.known || (b.scrub.history != nil) != c.shared {
			t.Errorf("%+v: known %v, shared %v", c, b.Facts().Known, b.scrub.history != nil)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
}

// An engine that has no room for another container does not fail an attempt.
func TestWithoutAnotherContainerTheSandboxScrubsItsOwn(t *testing.T) {
	tier.Rest(t)
	name := ownImage()
	var refuse atomic.Bool
	creates := 0
	s := testHost(t, func(c *Config) {
		c.Options.Before = func(call string) error {
			if call == "create" && refuse.Load() {
				creates++
				return fault.Newf(fault.Host, "no room")
			}
			return nil
		}
	})
	s.ShareScrubs = true
	future := futureImage(t, s, name)
	s.sites[0].images.Plan([]images.Need{{ID: "a", Ref: name}, {ID: "b", Ref: name}})
	a := s.open(t, Opening{Instance: dataset.Instance{ID: "a", Image: name}})
	b := s.open(t, Opening{Instance: dataset.Instance{ID: "b", Image: name}})
	refuse.Store(true)
	for _, box := range []*Sandbox{a, b} {
		if box.ShareScrub(t.Context()) {
			t.Error("clean, want a history to scrub")
		}
		scrubHere(t, box, future)
	}
	if creates != 1 {
		t.Errorf("%d creates, want one try", creates)
	}
}

// If the sandbox that fills the volume is closed, another one fills it.
func TestACanceledScrubIsMadeByAnother(t *testing.T) {
	tier.Rest(t)
	name := ownImage()
	s := testHost(t, nil)
	s.ShareScrubs = true
	future := futureImage(t, s, name)
	s.sites[0].images.Plan([]images.Need{{ID: "a", Ref: name}, {ID: "b", Ref: name}})
	a := s.open(t, Opening{Instance: dataset.Instance{ID: "a", Image: name}})
	b := s.open(t, Opening{Instance: dataset.Instance{ID: "b", Image: name}})
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	a.ShareScrub(canceled)
	b.ShareScrub(t.Context())
	scrubHere(t, b, future)
	if out, err := b.Script(t.Context(), "cat .git/objects/info/alternates"); err != nil || out.ExitCode != 0 {
		t.Errorf("got %+v, %v; want borrowed objects", out, err)
	}
}

// A volume stays as long as an instance needs its image, and no longer.
func TestTheLastInstanceOfAnImageRemovesItsVolume(t *testing.T) {
	tier.Rest(t)
	name := ownImage()
	s := testHost(t, nil)
	s.ShareScrubs = true
	futureImage(t, s, name)
	s.sites[0].images.Plan([]images.Need{{ID: "a", Ref: name}, {ID: "b", Ref: name}, {ID: "c", Ref: name}})
	open := func(id string) *Sandbox {
		return s.open(t, Opening{Instance: dataset.Instance{ID: id, Image: name}})
	}
	a := open("a")
	volume := a.scrub.history.volume
	has := func(want bool) {
		t.Helper()
		if got := strings.Contains(volumes(t), volume); got != want {
			t.Errorf("the volume is there: %v, want %v", got, want)
		}
	}
	s.remove(t, a)
	has(true) // b and c have not begun
	b, c := open("b"), open("c")
	s.remove(t, b)
	has(true) // c uses it
	s.remove(t, c)
	has(false)
	again := open("c") // a further attempt
	if again.scrub.history == nil || again.scrub.history.volume == volume {
		t.Error("want another volume")
	}
	s.remove(t, again)
}

// A later run with the same state directory does not read the history again, whatever a run with
// another one does between them.
func TestALaterRunDoesNotReadTheHistory(t *testing.T) {
	tier.Rest(t)
	name, state := ownImage(), t.TempDir()
	var future string
	for run, dir := range []string{state, state, t.TempDir(), state} {
		s := testHost(t, func(c *Config) { c.State = dir })
		s.ShareScrubs = true
		if run == 0 {
			future = futureImage(t, s, name)
		}
		if err := s.sites[0].histories.reap(t.Context()); err != nil {
			t.Error(err)
		}
		a := s.open(t, Opening{Instance: dataset.Instance{ID: "a", Image: name}})
		if a.ShareScrub(t.Context()) {
			t.Error("clean, want a history to scrub")
		}
		out, err := a.Script(t.Context(), boxgit.Command("", boxgit.Scrub))
		if err != nil {
			t.Fatal(err)
		}
		report, err := boxgit.Read(out.Bytes, out.ExitCode)
		if err != nil {
			t.Fatal(err)
		}
		a.Scrubbed(report, time.Second)
		if first := run%2 == 0; (report.Outcome != "") != first || report.Verdict != "scrubbed" || report.Objects != 3 {
			t.Errorf("run %d: %+v, want 3 objects, and an outcome only of the first run of a directory", run, report)
		}
		out, err = a.Script(t.Context(), "git fsck --full && ! git cat-file -e "+future+" && ! ls "+boxgit.OutcomeFile)
		if err != nil || out.ExitCode != 0 {
			t.Errorf("run %d: got %+v, %v; want a history without the future commit, and no outcome", run, out, err)
		}
		s.remove(t, a)
	}
}

// What a scrub has to know is found out before the instance begins, in a container that is gone then,
// but not while no processor is idle, nor for instances of which the first scrubs for all.
func TestAnImageIsScrubbedAheadWhileAProcessorIsIdle(t *testing.T) {
	tier.Rest(t)
	name, several := ownImage(), ownImage()
	var log bytes.Buffer
	s := testHost(t, func(c *Config) {
		c.ShareScrubs, c.Images.Ahead, c.Log = true, 2, slog.New(slog.NewTextHandler(&log, nil))
	})
	future := futureImage(t, s, name)
	futureImage(t, s, several)
	at, o := s.sites[0], Opening{Instance: dataset.Instance{ID: "a", Image: name}}
	at.images.Plan([]images.Need{{ID: "a", Ref: name}, {ID: "b", Ref: several}, {ID: "c", Ref: several}})
	asked := 0
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var ahead sync.WaitGroup
	ahead.Go(func() {
		at.scrubAhead(ctx, s.Config, func(context.Context) bool {
			asked++
			return asked == 3
		})
	})
	image, _, err := at.images.Fetch(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	for key := s.scrubKey(image, ""); at.images.Outcome(key) == ""; time.Sleep(10 * time.Millisecond) {
		if t.Context().Err() != nil {
			t.Fatalf("nothing was found out; log %s", log.String())
		}
	}
	b := s.open(t, o)
	if b.scrub.outcome == "" || b.ShareScrub(t.Context()) {
		t.Errorf("got %+v, want what was found out", b.scrub)
	}
	scrubHere(t, b, future)
	s.remove(t, b)
	cancel()
	ahead.Wait()
	if n := strings.Count(log.String(), "scrubbed a git history ahead"); n != 1 || asked != 3 {
		t.Errorf("scrubbed %d times, asked %d times for an idle processor; want once, the third time; log %s", n, asked, log.String())
	}
}

func TestIdleProcessorsAreCounted(t *testing.T) {
	const cores = "cpu0 1\ncpu1 1\ncpu2 1\ncpu3 1\nintr 5\n"
	const before = "cpu  100 0 100 1000 50 0 0 0 0 0\n" + cores
	for after, want := range map[string]float64{
		"cpu  200 0 200 1000 250 0 0 0 0 0\n" + cores: 0, // waiting for a disk is not idle
		"cpu  200 0 200 1200 50 0 0 0 0 0\n" + cores:  2,
		"cpu  100 0 100 1400 50 0 0 0 0 0\n" + cores:  4,
		"cpu  100 0 100 1000 50 0 0 0 0 0\n" + cores:  0, // no time has passed
		"": 0,
	} {
		if got := idleNow(t.Context(), &stats{before, after}, time.Millisecond); got != want {
			t.Errorf("%q: got %v idle processors, want %v", after, got, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := idleNow(ctx, &stats{before, before}, time.Hour); got != 0 {
		t.Errorf("got %v idle processors after the end, want none", got)
	}
}

// stats are what /proc/stat has, one time after the other.
type stats []string

func (s *stats) Open(name string) (fs.File, error) {
	next := (*s)[0]
	*s = (*s)[1:]
	return fstest.MapFS{"stat": &fstest.MapFile{Data: []byte(next)}}.Open(name)
}

// The image's own git runs there: it may no more than an agent, and gets nothing of the user's.
func TestAScrubApartHasTheLimitsOfTheRun(t *testing.T) {
	limits := engine.Spec{Memory: 1, MemorySwap: 2, CPUs: 3, PidsLimit: 4, Disk: 5, CapDrop: []string{"ALL"}, SecurityOpt: []string{"seccomp=x"}}
	c := Config{Container: limits}
	c.Container.Env, c.Container.CapAdd, c.Container.ExtraHosts = []string{"KEY=secret"}, []string{"SYS_ADMIN"}, []string{"a:1.2.3.4"}
	c.Container.Network = engine.Bridge
	want := limits
	want.Image, want.ImageID = "ref", "id"
	if diff := cmp.Diff(want, (&site{}).scrubSpec(c, images.Image{Image: vocab.Image{Ref: "ref", ID: "id"}})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Which commit an image is at is asked once for all its containers, unless the answer is none.
func TestTheCommitOfAnImageIsAskedOnce(t *testing.T) {
	tier.Rest(t)
	name, state := ownImage(), t.TempDir()
	asked := 0
	for run := range 2 {
		s := testHost(t, func(c *Config) { c.State = state })
		s.ShareScrubs = true
		if run == 0 {
			futureImage(t, s, name)
		}
		for _, id := range []string{"a", "b"} {
			box := s.open(t, Opening{Instance: dataset.Instance{ID: id, Image: name}})
			for _, answer := range []vocab.Output{
				{ExitCode: 1, Bytes: []byte("base: head 1234567\n")},
				{Bytes: []byte("base: none commit\n")},
				{Bytes: []byte("base: head 1234567\n")},
			} {
				out, err := box.Checked(t.Context(), func() (vocab.Output, error) {
					asked++
					return answer, nil
				})
				want := "base: head 1234567\n"
				if run == 0 && id == "a" {
					want = string(answer.Bytes)
				}
				if err != nil || string(out.Bytes) != want {
					t.Errorf("run %d, %s: got %+v, %v; want %q", run, id, out, err, want)
				}
			}
			s.remove(t, box)
		}
	}
	if asked != 3 {
		t.Errorf("asked %d times, want 3: until there was an answer", asked)
	}
}
