package runs

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"batch.example/batch/docs"
	"batch.example/batch/e2e"
	"batch.example/batch/internal/tier"
)

// slurm is a cluster of one node on this machine, with ports and folders of its own.
type slurm struct {
	dir string
	env []string // of its commands
}

// slurmConfig needs neither cgroups nor systemd. Without cred_expire, a job that was requeued would
// wait for two minutes.
const slurmConfig = `ClusterName=batch
SlurmctldHost=%[2]s(127.0.0.1)
SlurmctldPort=%[3]d
SlurmdPort=%[4]d
SlurmUser=root
SlurmdUser=root
AuthInfo=socket=%[1]s/munge/socket,cred_expire=5
MailProg=/bin/true
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
SchedulerParameters=sched_interval=1,bf_interval=1,batch_sched_delay=0
KillWait=2
StateSaveLocation=%[1]s/state
SlurmdSpoolDir=%[1]s/spool
SlurmctldPidFile=%[1]s/slurmctld.pid
SlurmdPidFile=%[1]s/slurmd.pid
NodeName=%[2]s NodeAddr=127.0.0.1 CPUs=64
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
`

// startSlurm starts the cluster. Its processes end with the test.
func startSlurm(t *testing.T) *slurm {
	t.Helper()
	for _, name := range []string{"munged", "slurmctld", "slurmd", "sbatch"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("%s is not installed: as root, scripts/ensure-extras installs Slurm on Debian", name)
		}
	}
	if os.Getuid() != 0 {
		t.Skip("only root can start a Slurm node")
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	s := &slurm{dir: t.TempDir()}
	for _, name := range []string{"munge", "state", "spool"} {
		if err := os.Mkdir(filepath.Join(s.dir, name), 0o711); err != nil { // munged refuses a folder that others may write to
			t.Fatal(err)
		}
	}
	key := filepath.Join(s.dir, "munge", "key")
	if err := os.WriteFile(key, []byte(rand.Text()+rand.Text()), 0o400); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(s.dir, "slurm.conf")
	if err := os.WriteFile(config, fmt.Appendf(nil, slurmConfig, s.dir, host, freePort(t), freePort(t)), 0o644); err != nil {
		t.Fatal(err)
	}
	s.env = append(os.Environ(), "SLURM_CONF="+config)
	in := func(name string) string { return filepath.Join(s.dir, "munge", name) }
	s.daemon(t, "munged", "--foreground", "--force", "--key-file="+key, "--socket="+in("socket"), "--pid-file="+in("pid"),
		"--log-file="+in("log"), "--seed-file="+in("seed"))
	s.await(t, "munged's socket", func() bool { _, err := os.Stat(in("socket")); return err == nil })
	s.daemon(t, "slurmctld", "-D", "-i", "-f", config)
	s.daemon(t, "slurmd", "-D", "-f", config, "-N", host)
	s.await(t, "an idle node", func() bool { return strings.TrimSpace(s.run("sinfo", "-h", "-o", "%t")) == "idle" })
	return s
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// daemon starts a process of the cluster, and ends it when the test has ended.
func (s *slurm) daemon(t *testing.T, name string, args ...string) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, name, args...)
	log, err := os.Create(filepath.Join(s.dir, name+".out"))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Env, cmd.Stdout, cmd.Stderr = s.env, log, log
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 20 * time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		_ = cmd.Wait() // it was asked to end
		_ = log.Close()
		if text, _ := os.ReadFile(log.Name()); t.Failed() {
			t.Logf("%s:\n%s", name, text)
		}
	})
}

// run returns what a command of the cluster prints, with its error.
func (s *slurm) run(name string, args ...string) string {
	cmd := exec.Command(name, args...)
	cmd.Env = s.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Sprintf("%s%v", out, err)
	}
	return string(out)
}

func (s *slurm) await(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(e2e.Patience); !done(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("no %s after %v:\n%s%s", what, e2e.Patience, s.run("squeue"), s.run("sinfo"))
		}
	}
}

// slurmScripts returns the two scripts of the page about shards.
func slurmScripts(t *testing.T) (shards, submit string) {
	t.Helper()
	for _, p := range docs.Pages {
		if p.Name != "shards" {
			continue
		}
		found := regexp.MustCompile("(?s)```sh\n(#!/bin/bash\n.*?)```").FindAllStringSubmatch(p.Markdown(), -1)
		if len(found) != 2 {
			t.Fatalf("the page has %d scripts, want 2", len(found))
		}
		return found[0][1], found[1][1]
	}
	t.Fatal("there is no page about shards")
	return "", ""
}

// The scripts of `batch help shards` run as they are, with another dataset and model. A task that is
// requeued in the middle continues, and the job that waits for all of them merges the shards.
func TestShardsOnSlurm(t *testing.T) {
	tier.Rest(t, "run/merging", "dataset/*.go", "cmd/batch/merge*.go", "docs/shards.md")
	t.Parallel()
	e2e.NeedDocker(t)
	s := startSlurm(t)
	dir := t.TempDir()
	shards, submit := slurmScripts(t)
	for _, change := range [][2]string{
		{"--array=1-8", "--array=1-3"}, {"--subset verified", "--subset demo --slice :3"}, {"-m openai/gpt-5", "-m scripted/replies.yaml"},
	} {
		if !strings.Contains(shards, change[0]) {
			t.Fatalf("%s is not in\n%s", change[0], shards)
		}
		shards = strings.ReplaceAll(shards, change[0], change[1])
	}
	const work = `
  - bash: echo more >> README.md
  - bash: echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT && git add -AN && git diff
`
	e2e.WriteFiles(t, dir, map[string]string{
		"shards.sbatch": shards, "submit.sh": submit,
		"replies.yaml": "demo__csvsum-5:\n  - bash: \"until test -e /tmp/requeued; do sleep 0.1; done\"" + work + "'*':" + work,
	})
	s.env = append(s.env, "PATH="+filepath.Dir(e2e.Program(t))+":"+os.Getenv("PATH"), "HOME="+t.TempDir())
	cmd := exec.Command("bash", "submit.sh", "runs/demo")
	cmd.Dir, cmd.Env = dir, s.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	journal := filepath.Join(dir, "runs/demo/2/demo__csvsum-5/journal.jsonl")
	count := func(what string) int {
		text, _ := os.ReadFile(journal) // none yet
		return strings.Count(string(text), what)
	}
	s.await(t, "first command", func() bool { return count(`"type":"reply"`) == 1 })
	if out := s.run("scontrol", "requeue", "1_2"); out != "" {
		t.Fatal(out)
	}
	s.await(t, "second start", func() bool { return count(`"type":"resume"`) == 1 })
	e2e.MakeInContainers(t, "demo__csvsum-5", "/tmp/requeued")
	s.await(t, "end of all jobs", func() bool { return strings.TrimSpace(s.run("squeue", "-h")) == "" })
	for _, name := range []string{"batch-1.log", "batch-2.log", "batch-3.log", "merge.log"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		t.Logf("%s: %v\n%s", name, err, text)
	}
	all := filepath.Join(dir, "runs/demo-all")
	if got := e2e.Predictions(t, all); len(got) != 3 {
		t.Errorf("%d predictions, want 3", len(got))
	}
	if got := e2e.Verdicts(t, all); len(got) != 3 {
		t.Errorf("verdicts %v, want 3", got)
	}
	if n := count(`"type":"reply"`); n != 3 {
		t.Errorf("%d replies, want 3: none is asked for again", n)
	}
	for part, want := range []string{"33.333333333333336", "33.333333333333336", "33.333333333333336"} {
		text, err := os.ReadFile(filepath.Join(dir, "runs/demo", fmt.Sprint(part+1), "manifest.json"))
		if err != nil || !strings.Contains(string(text), `"cost_limit_shard": `+want) {
			t.Errorf("manifest of shard %d, %v; want its part of the limit, %s, in\n%s", part+1, err, want, text)
		}
	}
}
