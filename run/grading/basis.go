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

// basisOf returns a function that says what a verdict on an instance is made by.
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

// container is everything about the containers that a log may depend on, except their
// network. Logs that are cached under this text stay valid: a setting that is added to it must leave
// the text as it is where the setting is not used.
func (s Settings) container(boxes sandbox.Config) string {
	c := boxes.Container
	return fmt.Sprintf("{Name:%s Image:%s ImageID:%s WorkDir:%s Env:%v User:%s Labels:%v Memory:%d MemorySwap:%d CPUs:%v PidsLimit:%d "+
		"Network: Platform:%s CapAdd:%v CapDrop:%v SecurityOpt:%v ExtraHosts:%v ShmSize:%d Volumes:%+v Disk:%d Unattended:%v} cpus=%v",
		c.Name, c.Image, c.ImageID, c.WorkDir, c.Env, c.User, c.Labels, c.Memory, c.MemorySwap, c.CPUs, c.PidsLimit,
		c.Platform, c.CapAdd, c.CapDrop, c.SecurityOpt, c.ExtraHosts, c.ShmSize, c.Volumes, c.Disk, c.Unattended, boxes.MaxCPUs)
}

// assetsIn is a digest of the files in the folder of --assets that an instance's tests need.
func assetsIn(folder string, in dataset.Instance) string {
	if folder == "" {
		return ""
	}
	found, err := assets(context.Background(), in, folder) // which downloads nothing from a folder
	if err != nil {                                        // the instance cannot be graded, which grading reports
		return ""
	}
	return digestOf(found)
}

// digestOf is a digest of values that JSON can hold.
func digestOf(values ...any) string {
	text, err := json.Marshal(values)
	if err != nil {
		return digest(fmt.Append(nil, values...)) // a row's column that JSON cannot hold, such as NaN
	}
	return digest(text)
}
