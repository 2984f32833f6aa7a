package sandbox

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/internal/regular"
	"batch.example/batch/sandbox/engine"
	"batch.example/batch/sandbox/images"
	"batch.example/batch/vocab"
)

// Stock is the images of an engine, with what batch has recorded about them.
type Stock struct {
	engine engine.Engine
	about  engine.About
	ledger *images.Ledger
	log    *slog.Logger
}

// OpenStock connects to an engine. The record of its images is in the directory state, see
// [StateDir]; if that cannot be used, a warning is logged. The caller must Close the Stock.
func OpenStock(ctx context.Context, connect engine.Connect, o engine.Options, state string) (*Stock, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	e, err := connect(ctx, o)
	if err != nil {
		return nil, err
	}
	s := &Stock{engine: e, log: o.Log}
	if s.about, err = e.About(ctx); err == nil {
		s.ledger, err = s.openLedger(state)
	}
	if err != nil {
		_ = e.Close() // nothing was started through it
		return nil, err
	}
	return s, nil
}

// KeepsImages reports whether the engine has images that batch pulls and removes.
func (s *Stock) KeepsImages() bool {
	_, ok := s.engine.(engine.Images)
	return ok
}

// Close ends the connection.
func (s *Stock) Close() error { return s.engine.Close() }

// Cache returns a new cache over the images.
func (s *Stock) Cache(o images.Options) *images.Cache {
	return images.New(imagesOf(s.engine), s.ledger, o)
}

// StateDir is the directory in the user's home where batch keeps its records about this
// machine; empty if the user has no home.
func StateDir(getenv func(string) string, home string) string {
	if state := getenv("XDG_STATE_HOME"); state != "" {
		return filepath.Join(state, "batch")
	}
	if home != "" {
		return filepath.Join(home, ".local", "state", "batch")
	}
	return ""
}

// openLedger opens the ledger of the engine's images: in the directory state, or if that
// fails in the temporary directory.
func (s *Stock) openLedger(state string) (*images.Ledger, error) {
	sum := sha256.Sum256([]byte(s.about.Store))
	name := fmt.Sprintf("%x", sum[:8])
	if state != "" {
		l, err := images.OpenLedger(filepath.Join(state, "images", name))
		if err == nil {
			return l, nil
		}
		s.log.Warn("no state directory: the list of pulled images is kept in the temporary directory", "err", err)
	}
	state, err := temporaryState(os.TempDir())
	if err != nil {
		return nil, err
	}
	return images.OpenLedger(filepath.Join(state, "images", name))
}

// temporaryState makes a state directory in the folder temp, to which other users may write. What is in
// it decides what an agent finds in its repository.
func temporaryState(temp string) (string, error) {
	dir := filepath.Join(temp, fmt.Sprintf("batch-state-%d", os.Geteuid()))
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fault.New(fault.Host, "creating a state directory", err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return "", fault.New(fault.Host, "reading the state directory", err)
	}
	if !info.IsDir() || !regular.Own(info) {
		return "", fault.Newf(fault.Host, "%s is not a folder that only this user can write", dir).
			WithHint("remove it, or set XDG_STATE_HOME to a folder of your own")
	}
	return dir, nil
}

// Needed describes an image that instances need.
type Needed struct {
	vocab.Image
	Instances int        `json:"instances"`
	Present   bool       `json:"present"`
	Size      int64      `json:"size,omitempty"` // bytes, shared layers included
	Pulled    *time.Time `json:"pulled_by_batch,omitempty"`
	Needed    *time.Time `json:"last_needed,omitempty"` // if batch pulled it
	Error     string     `json:"error,omitempty"`       // why it cannot be pulled, if known

	explain func(error) error // adds to an error that the image's name was derived
}

// Needs returns the images that instances need, in their order. It does not ask the engine:
// see [Stock.Look].
func Needs(instances []dataset.Instance, prefix string) []*Needed {
	var list []*Needed
	by := map[string]*Needed{}
	for _, in := range instances {
		ref := in.ImageName(prefix)
		if by[ref] == nil {
			by[ref] = &Needed{Image: vocab.Image{Ref: ref}, explain: in.ExplainImage}
			list = append(list, by[ref])
		}
		by[ref].Instances++
	}
	return list
}

// Look fills in the facts of the engine and of batch's records about images for a platform.
func (s *Stock) Look(ctx context.Context, list []*Needed, platform string) error {
	entries, err := s.ledger.Entries()
	if err != nil {
		return err
	}
	for _, n := range list {
		if err := s.look(ctx, n, platform, entries); err != nil {
			return err
		}
	}
	return nil
}

func (s *Stock) look(ctx context.Context, n *Needed, platform string, entries []images.Entry) error {
	image, here, err := imagesOf(s.engine).Image(ctx, images.Ref(n.Ref, platform))
	if fault.KindOf(err) == fault.Instance {
		n.Error = err.Error()
		return nil
	}
	if err != nil || !here {
		return err
	}
	n.Present, n.ID, n.Digest, n.Size = true, image.ID, image.Digest, image.Size
	for _, e := range entries {
		if e.Ref == images.Ref(n.Ref, platform) && e.ID == image.ID {
			n.Pulled, n.Needed = &e.Pulled, &e.Needed
		}
	}
	return nil
}

// Fetched is the result of pulling one image.
type Fetched struct {
	Ref    string
	Size   int64
	Pulled bool  // the engine did not have it before
	Err    error // why it could not be pulled; other images may succeed
}

// Pull pulls the images that the engine does not have, at most parallel at the same time.
// It calls report for each image of the list, one call at a time. The error concerns all
// images.
func (s *Stock) Pull(ctx context.Context, list []*Needed, platform string, o images.Options, parallel int, report func(Fetched)) error {
	cache := s.Cache(o)
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for _, n := range list {
		group.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			img, pulled, err := cache.Fetch(ctx, images.Ref(n.Ref, platform))
			if fault.KindOf(err) == fault.Host || fault.Canceled(err) {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			report(Fetched{Ref: n.Ref, Size: img.Size, Pulled: pulled, Err: n.explain(err)})
			return nil
		})
	}
	return group.Wait()
}

// ImageIDs returns the ids of the instances' images that the engines have, by name; of several
// engines, the first one's.
func ImageIDs(ctx context.Context, engines []Engine, o engine.Options, instances []dataset.Instance, prefix, platform string) (map[string]string, error) {
	list, err := askAll(engines, func(at Engine) (map[string]string, error) {
		return imageIDs(ctx, at.Connect, o, Needs(instances, prefix), platform)
	})
	ids := map[string]string{}
	for _, known := range slices.Backward(list) {
		maps.Copy(ids, known)
	}
	return ids, err
}

func imageIDs(ctx context.Context, connect engine.Connect, o engine.Options, needs []*Needed, platform string) (map[string]string, error) {
	e, err := connect(ctx, o)
	if err != nil {
		return nil, err
	}
	defer e.Close() //nolint:errcheck // nothing was started through it
	ids := map[string]string{}
	for _, n := range needs {
		image, here, err := imagesOf(e).Image(ctx, images.Ref(n.Ref, platform))
		if err != nil && fault.KindOf(err) != fault.Instance { // otherwise the instance will report it
			return nil, err
		}
		if here {
			ids[n.Ref] = image.ID
		}
	}
	return ids, nil
}

// Cleaned lists the leftovers of crashed runs on an engine.
type Cleaned struct {
	Abandoned []engine.Owned // the oldest first
	Kept      int            // containers of other runs
	Unseen    int            // of these, the ones whose runs may have ended, see [engine.Owned.Unseen]
	Outcomes  int64          // bytes of the outcomes of scrubs that were removed, or found in a dry run
	Shared    bool           // the shared network, or a volume that containers share, was removed too
}

// Clean removes the containers that crashed runs left, and the network and the volumes that
// containers share if no container uses them. With leases, only containers under these count
// as left. A dry run removes nothing. The error names everything that could not be removed.
// Cleaned is nil if the engine does not answer.
func (s *Stock) Clean(ctx context.Context, leases []string, dry bool) (*Cleaned, error) {
	owned, err := s.engine.Owned(ctx)
	if err != nil {
		return nil, err
	}
	found := &Cleaned{Abandoned: slices.DeleteFunc(slices.Clone(owned), func(s engine.Owned) bool {
		return !s.Abandoned || !s.Under(leases)
	})}
	if len(leases) == 0 {
		found.Outcomes = s.ledger.Outcomes()
	}
	if !dry {
		var reapErr, tidyErr, dropErr error
		var tidied, volumes bool
		found.Abandoned, reapErr = engine.Reap(ctx, s.engine, s.log, leases...)
		if t, ok := s.engine.(engine.Tidier); ok {
			tidied, tidyErr = t.Tidy(ctx)
		}
		if len(leases) == 0 {
			dropErr = s.ledger.DropOutcomes()
		}
		if v, ok := s.engine.(engine.Volumes); ok {
			volumes, err = v.ReapVolumes(ctx)
		}
		found.Shared, err = tidied || volumes, errors.Join(reapErr, tidyErr, dropErr, err)
	}
	slices.SortFunc(found.Abandoned, func(a, b engine.Owned) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
	})
	found.Kept = len(owned) - len(found.Abandoned)
	for _, o := range owned {
		if o.Unseen && !o.Abandoned {
			found.Unseen++
		}
	}
	return found, err
}
