package grading

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/grade/evaluate"
	"batch.example/batch/grade/family"
	"batch.example/batch/internal/fetch"
	"batch.example/batch/results/grades"
	"batch.example/batch/sandbox"
)

// basisOf returns a function that returns the basis of verdicts on an instance.
func (s Settings) basisOf(boxes sandbox.Config) func(dataset.Instance, *family.Task) grades.Basis {
	program := ""
	if s.Options.Parser != "" {
		if data, err := os.ReadFile(s.Options.Parser); err == nil { // otherwise running it reports the error
			program = digest(data)
		}
	}
	container := s.container(boxes)
	return func(in dataset.Instance, t *family.Task) grades.Basis {
		return grades.Basis{
			Tests:   digestOf(t.Family, t.Tests, t.Repo, t.EvalType),
			Parser:  program,
			Setup:   digest([]byte(t.Setup)),
			Files:   digestOf(t.Workdir, t.BaseCommit, t.TestFiles, in.Fields["image_assets"], s.assetsIn(in)),
			Gold:    digest(t.Gold),
			Limits:  digestOf(limitOf(s.Timeout, t), container),
			Network: networkOf(s.Network, t),
			Rules:   evaluate.Rules,
		}
	}
}

// container describes everything about the containers, except their network, that may affect a log.
// Logs are cached under this text, so a new setting must not change the text when it is unused.
func (s Settings) container(boxes sandbox.Config) string {
	c, further := boxes.Container, ""
	if len(c.Mounts)+len(c.Tmpfs)+len(c.Ulimits) > 0 || c.ReadOnly {
		further = fmt.Sprintf(" Mounts:%v Tmpfs:%v Ulimits:%v ReadOnly:%v", c.Mounts, c.Tmpfs, c.Ulimits, c.ReadOnly)
	}
	return fmt.Sprintf("{Name:%s Image:%s ImageID:%s WorkDir:%s Env:%v User:%s Labels:%v Memory:%d MemorySwap:%d CPUs:%v PidsLimit:%d "+
		"Network: Platform:%s CapAdd:%v CapDrop:%v SecurityOpt:%v ExtraHosts:%v ShmSize:%d Volumes:%+v Disk:%d Unattended:%v} cpus=%v",
		c.Name, c.Image, c.ImageID, c.WorkDir, c.Env, c.User, c.Labels, c.Memory, c.MemorySwap, c.CPUs, c.PidsLimit,
		c.Platform, c.CapAdd, c.CapDrop, c.SecurityOpt, c.ExtraHosts, c.ShmSize, c.Volumes, c.Disk, c.Unattended, boxes.MaxCPUs) + further
}

// assetsIn returns a digest of the files in the folder of --assets that an instance's tests
// need.
func (s Settings) assetsIn(in dataset.Instance) string {
	if s.Assets == "" {
		return ""
	}
	found, err := s.assets(context.Background(), in) // with a folder, it downloads nothing
	if err != nil {                                  // grading will report that the instance cannot be graded
		return ""
	}
	return digestOf(found)
}

// digestOf returns a digest of values.
func digestOf(values ...any) string {
	text, err := json.Marshal(values)
	if err != nil {
		return digest(fmt.Append(nil, values...)) // a row's column that JSON cannot hold, such as NaN
	}
	return digest(text)
}

const (
	assetLimit   = 32 << 20 // bytes of one downloaded file, which memory holds
	assetTimeout = time.Minute
)

// assets returns the files that the tests of a row need beside its text. It takes them from
// folder, at ID/test_assets/PATH, or without a folder downloads them from the addresses in
// the row. A failed download is a Transient fault, and an address that is never asked an Instance fault.
func (s Settings) assets(ctx context.Context, in dataset.Instance) ([]evaluate.Asset, error) {
	return evaluate.Assets(in, func(a dataset.Asset) ([]byte, error) {
		if s.Assets != "" {
			return os.ReadFile(filepath.Join(s.Assets, in.ID, "test_assets", filepath.FromSlash(a.Path)))
		}
		if a.URL == "" {
			return nil, fs.ErrNotExist
		}
		data, err := s.download(ctx, a.URL)
		switch {
		case errors.Is(err, fetch.ErrRefused):
			return nil, fault.New(fault.Instance, "downloading "+a.Path+", which the tests need", err)
		case err != nil:
			return nil, fault.New(fault.Transient, "downloading "+a.Path+", which the tests need", err)
		}
		return data, nil
	})
}

func (s Settings) download(ctx context.Context, address string) ([]byte, error) {
	if s.downloading != nil {
		return s.downloading(ctx, address)
	}
	return fetch.Client{Limit: assetLimit, Timeout: assetTimeout}.Get(ctx, address, nil)
}
