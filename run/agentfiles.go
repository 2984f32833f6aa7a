package run

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"batch.example/batch/agent/config"
	"batch.example/batch/fault"
	"batch.example/batch/internal/abspath"
	"batch.example/batch/run/engines"
	"batch.example/batch/sandbox"
	"batch.example/batch/sandbox/engine"
	enginefiles "batch.example/batch/sandbox/engine/files"
)

// agentFiles returns the files of the agent's program, of a folder in dir if its path is relative. It refuses a
// folder that lacks the program, or that an engine cannot take.
func agentFiles(cfg *config.Config, dir string, list []sandbox.Engine) (engine.Files, error) {
	p := &cfg.Agent.Program
	switch {
	case p.Files == "":
		return engine.Files{}, nil
	case !p.FilesFolder():
		return engine.Files{Image: p.Files}, nil
	case slices.ContainsFunc(list, func(e sandbox.Engine) bool { return engines.HasPods(e.Address) }):
		return engine.Files{}, fault.Newf(fault.Usage, "agent.program.files: Kubernetes cannot take the folder %s", p.Files).
			WithHint("name an image with its files")
	}
	folder := p.Files
	if dir != "" {
		folder = abspath.Join(dir, folder)
	}
	f, err := enginefiles.Folder(folder)
	if err != nil {
		return f, fault.New(fault.KindOf(err), "agent.program.files", err)
	}
	program, err := cfg.Launch(map[string]any{"task": "", "url": "", "key": "", "model": "", "home": "", "files": engine.FilesDir})
	if err != nil {
		return f, err
	}
	return f, holds(f.Folder, program.Args[0])
}

// holds returns a Usage fault if a program of the files is not in their folder. Of one that is a link out of the
// folder, only a container knows.
func holds(folder, program string) error {
	name, ours := strings.CutPrefix(program, engine.FilesDir+"/")
	if !ours {
		return nil
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return fault.New(fault.Usage, "agent.program.files", err)
	}
	defer root.Close()
	info, err := root.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fault.Newf(fault.Usage, "agent.program.files: %s has no %s, which agent.program.command starts", folder, name).
			WithHint("put the program there, or correct the command")
	case err == nil && (!info.Mode().IsRegular() || info.Mode()&0o100 == 0):
		return fault.Newf(fault.Usage, "agent.program.files: %s in %s, which agent.program.command starts, is not an executable file", name, folder).
			WithHint("chmod +x it, or correct the command")
	}
	return nil
}
