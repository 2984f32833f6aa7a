package sandbox

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"batch.example/batch/dataset"
	"batch.example/batch/docker"
	"batch.example/batch/fault"
	"batch.example/batch/imagecache"
	"batch.example/batch/vocab"
)

// Stock is the images of an engine, with what batch remembers of them.
type Stock struct {
	engine *docker.Engine
	info   docker.Info
	ledger *imagecache.Ledger
}

// OpenStock connects to an engine, whose images are remembered in a folder of
// [StateDir]; where it cannot be, log is told. The caller closes the Stock.
func OpenStock(ctx context.Context, c docker.Config, state string, log *slog.Logger) (*Stock, error) {
	engine, err := docker.Connect(ctx, c)
	if err != nil {
		return nil, err
	}
	s := &Stock{engine: engine}
	if s.info, err = engine.Info(ctx); err == nil {
		s.ledger, err = s.openLedger(state, log)
	}
	if err != nil {
		_ = engine.Close() // nothing was started through it
		return nil, err
	}
	return s, nil
}

// Close ends the connection.
func (s *Stock) Close() error { return s.engine.Close() }

// Cache returns a new cache over the images.
func (s *Stock) Cache(o imagecache.Options) *imagecache.Cache {
	return imagecache.New(ImageEngine(s.engine), s.ledger, o)
}

// StateDir is the folder in the user's home in which batch remembers things of this
// machine; empty where there is none.
func StateDir(getenv func(string) string, home string) string {
	if state := getenv("XDG_STATE_HOME"); state != "" {
		return filepath.Join(state, "batch")
	}
	if home != "" {
		return filepath.Join(home, ".local", "state", "batch")
	}
	return ""
}

// openLedger opens the ledger of the engine's images. Where it cannot be kept in the
// user's state, it lies among the temporary files.
func (s *Stock) openLedger(state string, log *slog.Logger) (*imagecache.Ledger, error) {
	// An engine is known by its machine and its data; two names of one machine
	// give two ledgers, in doubt for the user's images.
	sum := sha256.Sum256([]byte(s.engine.Host() + "\n" + s.info.Name + "\n" + s.info.RootDir))
	name := fmt.Sprintf("%x", sum[:8])
	if state != "" {
		l, err := imagecache.OpenLedger(filepath.Join(state, "images", name))
		if err == nil {
			return l, nil
		}
		log.Warn("which images batch pulled is remembered among the temporary files only", "err", err)
	}
	return imagecache.OpenLedger(filepath.Join(os.TempDir(), fmt.Sprintf("batch-state-%d", os.Getuid()), "images", name))
}

// Needed is an image that instances need, and what is known of it.
type Needed struct {
	vocab.Image
	Instances int        `json:"instances"`
	Present   bool       `json:"present"`
	Size      int64      `json:"size,omitempty"` // bytes, shared layers included
	Pulled    *time.Time `json:"pulled_by_batch,omitempty"`
	Needed    *time.Time `json:"last_needed,omitempty"` // of one that batch pulled
	Scrubbed  []string   `json:"scrubbed,omitempty"`    // images that batch made of it, with its history scrubbed
	Error     string     `json:"error,omitempty"`       // why it cannot be had, where that is known

	Made []imagecache.Entry `json:"-"` // those of Scrubbed
}

// Needs returns the images that instances need, in their order, as far as the
// instances alone tell.
func Needs(instances []dataset.Instance, prefix string) []*Needed {
	var list []*Needed
	by := map[string]*Needed{}
	for _, in := range instances {
		ref := in.ImageName(prefix)
		if by[ref] == nil {
			by[ref] = &Needed{Image: vocab.Image{Ref: ref}}
			list = append(list, by[ref])
		}
		by[ref].Instances++
	}
	return list
}

// Look fills in what the engine and batch's memory know of images for a platform.
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

func (s *Stock) look(ctx context.Context, n *Needed, platform string, entries []imagecache.Entry) error {
	image, here, err := s.engine.Image(ctx, n.Ref, platform)
	if fault.KindOf(err) == fault.Instance {
		n.Error = err.Error()
		return nil
	}
	if err != nil || !here {
		return err
	}
	n.Present, n.ID, n.Digest, n.Size = true, image.ID, image.Digest, image.Size
	for _, e := range entries {
		if e.Ref == imagecache.Ref(n.Ref, platform) && e.ID == image.ID {
			n.Pulled, n.Needed = &e.Pulled, &e.Needed
		}
		if e.OfID == image.ID {
			n.Made, n.Scrubbed = append(n.Made, e), append(n.Scrubbed, e.Ref)
		}
	}
	return nil
}

// Fetched is what came of the pull of an image.
type Fetched struct {
	Ref    string
	Size   int64
	Pulled bool  // it was not here before
	Err    error // why it cannot be had; others may
}

// Pull pulls those of the images that are not here, so many at once, and tells of each,
// one at a time. The error is one that befalls all.
func (s *Stock) Pull(ctx context.Context, list []*Needed, platform string, o imagecache.Options, width int, told func(Fetched)) error {
	images := s.Cache(o)
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(width)
	for _, n := range list {
		group.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			img, pulled, err := images.Fetch(ctx, imagecache.Ref(n.Ref, platform))
			if fault.KindOf(err) == fault.Host || fault.Canceled(err) {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			told(Fetched{Ref: n.Ref, Size: img.Size, Pulled: pulled, Err: err})
			return nil
		})
	}
	return group.Wait()
}
