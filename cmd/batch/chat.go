package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"batch.example/batch/agent"
	"batch.example/batch/agent/config"
	"batch.example/batch/attempt/chat"
	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/internal/printable"
	"batch.example/batch/internal/progress"
	"batch.example/batch/internal/swebench"
	"batch.example/batch/internal/tty"
	"batch.example/batch/run"
	"batch.example/batch/runner"
	"batch.example/batch/vocab"
)

// chatFlags are the flags of `batch chat` that `batch attach` has too.
type chatFlags struct {
	mode      string
	whitelist []string
	noTTY     bool
}

func (f *chatFlags) add(fs *pflag.FlagSet) {
	fs.StringVar(&f.mode, "mode", string(chat.Confirm), "who decides about actions: confirm (you are asked), yolo (nothing is asked) or human (you write them)")
	fs.StringArrayVar(&f.whitelist, "whitelist", nil, "run commands that match this `REGEX` at their beginning without asking; may be repeated")
	fs.BoolVar(&f.noTTY, "no-tty", false, "read JSON lines from standard input and write JSON lines to standard output")
	inSection(fs, "Conversation")
}

// chatHelp describes the conversation in the help of both commands.
const chatHelp = `At each question, /h lists what you can say: Enter runs an action, words reject
it, /c /y /u switch modes, /d shows the diff, /m the history, /s saves the diff
as the prediction, /k ends the conversation with its result, /q leaves it. A
line that ends with a backslash continues. ctrl-c stops the agent, kills its
command and asks for a comment; at a question, ctrl-c twice leaves. A command
that was running when batch was killed is shown by the next one, and its result
comes from the container. If that is gone, the command starts again in mode
yolo; in the other modes its result is not known.

With --no-tty, standard input has one JSON object per line:
  {"say":"..."} {"approve":true} {"reject":"why"} {"command":"..."}
  {"interrupt":"comment"} {"mode":"confirm|yolo|human"} {"diff":true}
  {"history":5} {"save":true} {"end":true} {"leave":true}
and standard output the session's events, and opened, ask, diff, history, note,
interrupted and error. The end of the input leaves the conversation.

Exit codes: 0 the conversation ended with a result, 1 it had to stop,
2 usage, 3 it was left and the same command continues it, 4 the directory is in
use, 130 interrupted.`

func (a *app) chatCommand() *cobra.Command {
	f := newRunFlags()
	var talk chatFlags
	var image string
	c := &cobra.Command{
		Use:   "chat {--image IMAGE [TASK] | INSTANCE}",
		Short: "Talk with an agent in a container",
		Long: `Talk with an agent in a container: watch it, approve or reject what it does,
stop it, take over, and keep its work as a prediction. The container is made
from an image, or for a row; the row's problem statement is then your first
message.

  batch chat --image python:3.13 -c environment.cwd=/ -m openai/gpt-5 fizzbuzz
  batch chat --subset verified django__django-11019 -m openai/gpt-5 --mode yolo
  batch chat --image me/repo -m openai/gpt-5 --whitelist 'ls|cat|git diff'

The conversation is a run directory with one instance; the same command
continues it, also after a crash. Limits of steps, cost and time are for each
turn. The agent may end a turn with an answer or a question: by default
agent.finish_without_calls and agent.ask are true, unless it writes its commands
in a fence. If no -c names a file, -c chat has the prompts. Commands start in
environment.cwd, which the image must have.

` + chatHelp,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			f.own = c.Flags()
			return a.chat(c.Context(), f, talk, image, args)
		},
	}
	fs := c.Flags()
	fs.StringVar(&image, "image", "", "talk in a container of this image, instead of a row's")
	inSection(fs, "Conversation")
	talk.add(fs)
	addSource(fs, &f.Request)
	addConfig(fs, &f.Request)
	fs.StringVarP(&f.Output, "output", "o", "", "run directory (default: runs/chat-IMAGE-MODEL, or INSTANCE for IMAGE)")
	f.addCost(fs)
	f.addInject(fs)
	inSection(fs, "Run")
	addPrefix(fs, &f.Request)
	addAssets(fs, &f.Request)
	addPull(fs, &f.Request)
	f.addMask(fs)
	inSection(fs, "Output")
	return c
}

// chat checks what `batch chat` was asked for, and talks.
func (a *app) chat(ctx context.Context, f runFlags, talk chatFlags, image string, args []string) error {
	var ds *dataset.Dataset
	var err error
	task := ""
	switch {
	case image != "" && len(args) > 1:
		return fault.Newf(fault.Usage, "unexpected argument %q", args[1]).WithHint("quote the task: `batch chat --image %s -m MODEL '%s'`", image, strings.Join(args, " "))
	case image != "":
		task, f.Subset = strings.Join(args, ""), ""
		ds, err = imageDataset(image, "", task)
	case len(args) != 1:
		return fault.Newf(fault.Usage, "which image, or which instance?").WithHint("`batch chat --image IMAGE -m MODEL [TASK]`, or `batch chat --subset verified INSTANCE -m MODEL`")
	default:
		f.Only, f.Named = args, args
	}
	if err != nil {
		return err
	}
	if err := a.checkTalk(&f, talk); err != nil {
		return err
	}
	if f.Output == "" {
		f.Output = filepath.Join("runs", "chat-"+fileName(cmp.Or(image, strings.Join(args, "")))+"-"+fileName(f.Model))
	}
	f.Configs = talkConfig(f.Configs)
	git := run.ProbeGit(ctx, "")
	defer git.Stop()
	s, err := a.configured(f, git)
	if err != nil {
		return err
	}
	s.Command = "chat"
	talkative(s)
	if ds != nil {
		err = s.Over(ds, ds.Instances)
	} else if err = s.load(ctx); err == nil {
		task = s.Instances[0].ProblemStatement
	}
	if err != nil {
		return err
	}
	return s.talk(ctx, talk, chat.Config{Task: task}, nil)
}

// fileName writes a name as a part of a file's.
func fileName(name string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\:*?@ `, r) || r < ' ' {
			return '-'
		}
		return r
	}, name)
}

// checkTalk refuses flags and terminals that allow no conversation.
func (a *app) checkTalk(f *runFlags, talk chatFlags) error {
	f.Workers = 1
	if _, err := chat.ParseMode(talk.mode); err != nil {
		return fault.New(fault.Usage, "--mode", err)
	}
	if talk.noTTY {
		return nil
	}
	if _, ok := a.terminal(); !ok {
		return fault.Newf(fault.Usage, "standard input and output are not a terminal").
			WithHint("run it in a terminal, or with `--no-tty` and JSON lines")
	}
	return nil
}

// terminal is the terminal of standard input, if it and standard output are one.
func (a *app) terminal() (*os.File, bool) {
	in, ok := a.stdin.(*os.File)
	if !ok {
		return nil, false
	}
	_, ok = progress.TerminalOf(a.stdout)
	return in, ok && term.IsTerminal(int(in.Fd()))
}

// talkConfig returns the configuration of a conversation. Unless the caller names a file, it has
// the prompts for conversations; an agent that writes its commands in a fence needs other ones.
func talkConfig(configs []string) []string {
	if !config.OnlyKeys(configs) || slices.Contains(configs, "model.action_form=text") {
		return configs
	}
	return append([]string{config.Chat}, configs...)
}

// talkative lets the agent answer and ask, unless the configuration forbids it.
func talkative(s *invocation) {
	if s.Settings.ActionForm().Kind == agent.Text {
		return
	}
	if !s.Settings.Given("agent.finish_without_calls") {
		s.Settings.Agent.FinishWithoutCalls = true
	}
	if !s.Settings.Given("agent.ask") {
		s.Settings.Agent.Ask = true
	}
}

// talk runs the conversation. Prepare, if it is not nil, changes the run before it is
// opened.
func (s *invocation) talk(ctx context.Context, flags chatFlags, c chat.Config, prepare func(*run.Config)) (err error) {
	cfg, err := s.config()
	if err != nil {
		return err
	}
	c.Face, c.Input = s.face(flags), s.stdin
	c.Mode, c.Whitelist = chat.Mode(flags.mode), flags.whitelist
	c.Model, c.Directory = s.Settings.Model.ModelName, s.Output
	c.Fence = run.ModelSettings(s.Settings, s.getenv).Fence()
	person, err := chat.New(c)
	if err != nil {
		return err
	}
	cfg.Talk, cfg.Retries, cfg.Settled = person.Talk, runner.Retries{}, true
	if prepare != nil {
		prepare(&cfg)
	}
	if err := checkNetwork(ctx, cfg); err != nil {
		return err
	}
	r, err := run.Open(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = s.also(err, r.Close()) }()
	if r.Todo() == 0 {
		s.tell("this conversation has ended; choose another directory with -o for a new one")
		return nil
	}
	ctx, stop := s.watchTalk(ctx, person)
	defer stop()
	err = r.Work(ctx, nil, s.talkView(c.Face, flags.noTTY))
	return s.concludeTalk(r, person, err)
}

// face returns the connection to the person.
func (s *invocation) face(flags chatFlags) chat.Face {
	if flags.noTTY {
		return chat.NewLines(s.stdout)
	}
	in, _ := s.terminal()
	return chat.NewTerminal(chat.TerminalConfig{Out: s.stdout, Forget: func() { tty.Forget(in) }})
}

// concludeTalk prints how the conversation ended.
func (s *invocation) concludeTalk(r *run.Run, person *chat.Chat, ended error) error {
	if ended == nil {
		ended = r.Summary().Host
	}
	return s.session().conclude(r, ended, func(io.Writer) (int, error) {
		sum := r.Summary()
		switch {
		case ended != nil:
		case sum.Budget:
			s.tell(s.limitReached(sum.Stand))
		case sum.Missing > 0 && person.Left():
			s.tell("left; the same command continues the conversation in " + s.Output)
		case sum.Missing > 0:
			for _, rec := range sum.Records {
				if rec.Error != "" {
					s.tell(rec.Error)
				}
			}
		default:
			s.tell("the conversation ended; its result is in " + filepath.Join(s.Output, swebench.PredsName))
		}
		return sum.Missing, nil
	})
}

// talkView returns a function that shows the person what a conversation waits for, and warnings and
// errors. Lines says that a program reads them.
func (s *invocation) talkView(face chat.Face, lines bool) func(vocab.Event) {
	return func(e vocab.Event) {
		if e.Type != vocab.EventMessage {
			return
		}
		text := progress.Notice(e)
		if lines {
			face.Note(text)
			return
		}
		fmt.Fprintln(s.stderr, "batch: "+printable.Line(text))
	}
}

// watchTalk returns a context that a SIGTERM or SIGHUP cancels. An interrupt cancels it before
// the conversation has begun and after it has ended; during the conversation it is the
// person's, see [chat.Chat.Interrupt]. The third interrupt outside a conversation ends the process. stop
// must be called; it waits for the watching goroutine.
func (s *invocation) watchTalk(ctx context.Context, person *chat.Chat) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	outside := 0
	ignore := onSignals(func(sig os.Signal) {
		if sig == os.Interrupt && ctx.Err() == nil && person.Interrupt() {
			return
		}
		cancel()
		if sig != os.Interrupt {
			return
		}
		if outside++; outside > 2 {
			os.Exit(exitInterrupted)
		}
	})
	return ctx, func() {
		ignore()
		cancel()
	}
}
