package run

import (
	"context"
	"os/exec"
	"strings"

	"batch.example/batch/results/manifest"
)

// GitProbe asks for the state of the working directory's git work tree while
// other things are done, since it may take long in a large one.
type GitProbe struct {
	cancel context.CancelFunc
	done   chan struct{} // closed when state is there
	state  *manifest.Git
}

// ProbeGit starts asking. The caller must stop the probe.
func ProbeGit(ctx context.Context) *GitProbe {
	ctx, cancel := context.WithCancel(ctx)
	p := &GitProbe{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		cmd := exec.CommandContext(ctx, "git", "--no-optional-locks", "status", "--porcelain=v2", "--branch", "--untracked-files=no")
		if out, err := cmd.Output(); err == nil { // else there is no git, or no work tree
			p.state = parseGitStatus(string(out))
		}
	}()
	return p
}

// Known returns the state if it is there by now, or nil.
func (p *GitProbe) Known() *manifest.Git {
	select {
	case <-p.done:
		return p.state
	default:
		return nil
	}
}

// Stop gives up asking and waits for the end of it.
func (p *GitProbe) Stop() {
	p.cancel()
	<-p.done
}

// parseGitStatus reads what `git status --porcelain=v2 --branch` prints.
func parseGitStatus(out string) *manifest.Git {
	var g manifest.Git
	for line := range strings.Lines(out) {
		line = strings.TrimSuffix(line, "\n")
		switch key, value, _ := strings.Cut(strings.TrimPrefix(line, "# "), " "); {
		case !strings.HasPrefix(line, "#"):
			g.Dirty = true
		case key == "branch.oid":
			g.Commit = value
		case key == "branch.head":
			g.Branch = value
		}
	}
	return &g
}
