package grading

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"batch.example/batch/dataset"
	"batch.example/batch/grade/evaluate"
	"batch.example/batch/grade/family"
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
			Files:   digestOf(t.Workdir, t.BaseCommit, t.TestFiles, in.Fields["image_assets"], assetsIn(s.Assets, in)),
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
	c := boxes.Container
	return fmt.Sprintf("{Name:%s Image:%s ImageID:%s WorkDir:%s Env:%v User:%s Labels:%v Memory:%d MemorySwap:%d CPUs:%v PidsLimit:%d "+
		"Network: Platform:%s CapAdd:%v CapDrop:%v SecurityOpt:%v ExtraHosts:%v ShmSize:%d Volumes:%+v Disk:%d Unattended:%v} cpus=%v",
		c.Name, c.Image, c.ImageID, c.WorkDir, c.Env, c.User, c.Labels, c.Memory, c.MemorySwap, c.CPUs, c.PidsLimit,
		c.Platform, c.CapAdd, c.CapDrop, c.SecurityOpt, c.ExtraHosts, c.ShmSize, c.Volumes, c.Disk, c.Unattended, boxes.MaxCPUs)
}

// assetsIn returns a digest of the files in the folder of --assets that an instance's tests
// need.
func assetsIn(folder string, in dataset.Instance) string {
	if folder == "" {
		return ""
	}
	found, err := assets(context.Background(), in, folder) // with a folder, it downloads nothing
	if err != nil {                                        // grading will report that the instance cannot be graded
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
