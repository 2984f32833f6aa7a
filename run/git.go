package run

import (
	"context"
	"os/exec"
	"strings"

	"batch.example/batch/results/manifest"
)

// GitProbe runs git status in a folder in the background, since it may
// take long in a large repository.
type GitProbe struct {
	cancel context.CancelFunc
	done   chan struct{} // closed when state is set
	state  *manifest.Git
}

// ProbeGit starts git in dir; empty is the working directory. The caller must stop the probe.
func ProbeGit(ctx context.Context, dir string) *GitProbe {
	ctx, cancel := context.WithCancel(ctx)
	p := &GitProbe{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		cmd := exec.CommandContext(ctx, "git", "--no-optional-locks", "status", "--porcelain=v2", "--branch", "--untracked-files=no")
		cmd.Dir = dir
		if out, err := cmd.Output(); err == nil { // otherwise there is no git, or no working tree
			p.state = parseGitStatus(string(out))
		}
	}()
	return p
}

// Known returns the state if git has ended, otherwise nil.
func (p *GitProbe) Known() *manifest.Git {
	select {
	case <-p.done:
		return p.state
	default:
		return nil
	}
}

// Stop ends git and waits for it.
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
