package sandbox

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"batch.example/batch/dataset"
	"batch.example/batch/docker/containers"
	"batch.example/batch/fault"
	"batch.example/batch/imagecache"
)

// futureImage makes an image that has the solution on another branch, and returns the
// id of its commit.
func futureImage(t *testing.T, s *Host, name string) string {
	t.Helper()
	c, err := s.engine.Create(t.Context(), containers.Spec{Image: "batch-demo/demo__slug-1:latest", WorkDir: "/testbed", Unattended: 5 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Remove(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	r, err := c.Run(t.Context(), containers.Command{Timeout: time.Minute, Script: `cd /testbed && git checkout -q -b ahead &&
echo s > solution && git add . && git -c user.name=t -c user.email=t@localhost commit -qm ahead && git rev-parse HEAD && git checkout -q -`})
	if err != nil || r.ExitCode != 0 {
		t.Fatalf("got %+v, %v; want exit code 0, no error", r, err)
	}
	if _, err := c.Commit(t.Context(), name, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.engine.RemoveImage(context.Background(), name); err != nil {
			t.Error(err)
		}
	})
	return strings.TrimSpace(string(r.Bytes))
}

// What several instances need is scrubbed once, and no record shows it.
func TestAScrubbedImageIsSharedAndNotRecorded(t *testing.T) {
	name := ownImage()
	s := testHost(t, func(c *Config) { c.Env, c.Container.Env = []string{"LEAKED=x"}, []string{"LEAKED2=x"} })
	s.ShareScrubs, s.scrubs = true, &scrubs{turns: make(chan struct{}, 1), log: slog.New(slog.DiscardHandler)}
	future := futureImage(t, s, name)
	source, _, err := s.engine.Image(t.Context(), name, "")
	if err != nil {
		t.Fatal(err)
	}
	phases := map[string][]string{}
	row := func(id string) Opening {
		return Opening{Instance: dataset.Instance{ID: id, Image: name}, Report: func(phase string) { phases[id] = append(phases[id], phase) }}
	}
	s.images.Plan([]imagecache.Need{{ID: "a", Ref: name}, {ID: "b", Ref: name}})
	t.Cleanup(func() { // runs after the sandboxes are closed
		gone, _, err := s.images.Evict(context.Background(), 0, false)
		if err != nil || len(gone) != 1 || gone[0].Of != name || gone[0].OfID != source.ID {
			t.Errorf("evicted %+v, %v; want 1 gone, of %v, of ID %v, no error", gone, err, name, source.ID)
		}
	})
	first, second := s.open(t, row("a")), s.open(t, row("b"))
	for id, got := range phases { // a wait for another's scrub is in that phase, and not in the pull
		if want := []string{"pull", "scrub", "start"}; !slices.Equal(got, want) {
			t.Errorf("%s: phases %q, want %q", id, got, want)
		}
	}
	for _, b := range []*Sandbox{first, second} {
		f := b.Facts()
		if !f.Scrubbed || f.Image.ID != source.ID || f.Image.Ref != name || b.container.ImageID() == source.ID {
			t.Errorf("got %+v, made of %s; want scrubbed true, ID %v, ref %v, image ID other than %v",
				f, b.container.ImageID(), source.ID, name, source.ID)
		}
		if out, err := b.Script(t.Context(), "git cat-file -e "+future); err != nil || out.ExitCode == 0 {
			t.Errorf("the future commit is still in the repository: %v", err)
		}
	}
	if a, b := first.container.ImageID(), second.container.ImageID(); a != b {
		t.Errorf("made of %s and %s; want %v", a, b, b)
	}
	out, err := s.engine.Create(t.Context(), containers.Spec{Image: first.container.ImageID(), WorkDir: "/testbed", Unattended: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = out.Remove(context.Background()) }()
	r, err := out.Run(t.Context(), containers.Command{Script: "env; git log --oneline --all; git status --porcelain"})
	if err != nil || strings.Contains(string(r.Bytes), "LEAKED") || strings.Contains(string(r.Bytes), "ahead") {
		t.Errorf("got %s, %v; want no %q in the output, no %q in the output, no error", r.Bytes, err, "LEAKED", "ahead")
	}
}

func TestAnImageOfOneInstanceIsScrubbedInItsContainer(t *testing.T) {
	name := ownImage()
	s := testHost(t, nil)
	s.ShareScrubs, s.scrubs = true, &scrubs{slow: time.Second, turns: make(chan struct{}, 1), log: slog.New(slog.DiscardHandler)}
	futureImage(t, s, name)
	row := Opening{Instance: dataset.Instance{ID: "a", Image: name}}
	t.Cleanup(func() { _, _, _ = s.images.Evict(context.Background(), 0, false) })
	for _, step := range []struct {
		clean  bool
		took   time.Duration
		known  bool
		shared bool
	}{ // the result of the first scrub decides how the next is made
		{took: time.Millisecond}, {took: time.Millisecond}, {took: time.Hour}, {clean: true, shared: true}, {known: true},
	} {
		b := s.open(t, row)
		if f := b.Facts(); f.Known != step.known || f.Scrubbed != step.shared || (b.container.ImageID() != f.Image.ID) != step.shared {
			t.Errorf("%+v, made of %s, want %+v", f, b.container.ImageID(), step)
		}
		s.scrubs.slow = time.Second
		b.Scrubbed(step.clean, step.took)
		if step.took > time.Second {
			s.scrubs.slow = 0 // however long it really takes
		}
	}
}

// An image that cannot be made does not fail an attempt.
func TestWithoutAScrubbedImageTheOriginalIsUsed(t *testing.T) {
	name := ownImage()
	commits := 0
	s := testHost(t, func(c *Config) {
		c.Docker.Before = func(call string) error {
			if call != "commit" {
				return nil
			}
			if commits++; commits > 1 {
				return fault.Newf(fault.Host, "no room")
			}
			return nil
		}
	})
	s.ShareScrubs, s.scrubs = true, &scrubs{turns: make(chan struct{}, 1), log: slog.New(slog.DiscardHandler)}
	futureImage(t, s, name)
	s.images.Plan([]imagecache.Need{{ID: "a", Ref: name}, {ID: "b", Ref: name}})
	for _, id := range []string{"a", "b"} {
		f := s.open(t, Opening{Instance: dataset.Instance{ID: id, Image: name}}).Facts()
		if f.Known || f.Scrubbed || commits != 2 { // only once
			t.Errorf("got %+v after %d commits; want nothing known, 2 commits", f, commits)
		}
	}
	list, err := s.engine.Owned(t.Context())
	if err != nil || slices.ContainsFunc(list, func(c containers.Summary) bool { return strings.HasPrefix(c.Name, "batch-scrub-") && c.Image == name }) {
		t.Errorf("got containers %+v, error %v; want none of the scrub", list, err)
	}
}
