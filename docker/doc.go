// Package docker gives each instance its container, through the engine's API
// and never through the command-line client.
//
// An [Engine] is one connection to one Docker engine. It finds the engine the
// way the docker command does (DOCKER_HOST, then the context, then the default
// socket), speaks the version both sides know, and has what the engine has: its images (package images),
// of which [Engine.Ensure] pulls what is missing once, however many callers ask at
// the same time; and its containers (package containers). A [containers.Container]
// runs commands with exact bytes and exit codes, takes and gives files, and goes away
// with [containers.Container.Remove].
//
// What a caller may rely on: a container has no network, no mount of others, no engine's
// socket, no new privileges, nothing of this process's environment, few
// capabilities and a limit on processes unless the [containers.Spec] says otherwise; a
// create that fails leaves nothing behind; a command that passes its time limit
// is killed with all its children; a container or engine that is gone is an
// error with blame, never the output of a command; a container's own host name
// resolves, also without a network; a limit that the engine cannot keep is left
// out with a warning. Every container carries labels that say whose it is, so
// that [Engine.Reap] can remove what a killed process left.
//
// Root keeps the capabilities that installing and testing software needs:
// CHOWN, DAC_OVERRIDE, FOWNER and FSETID (to unpack an archive with its owners
// and modes, and to work in files of others), SETUID and SETGID (su, and package
// managers that drop to a user of their own), KILL (to end such a user's
// processes), NET_BIND_SERVICE (a test's server at port 80) and SYS_CHROOT
// (installers that unpack into a tree of their own). Of what engines give
// besides, it lacks: MKNOD (devices), NET_RAW (packets forged on a shared
// network), SETPCAP and SETFCAP (handing capabilities on) and AUDIT_WRITE (the
// machine's log).
//
// # Commands
//
// Process 1 of a container is a small program of ours (internal/boxinit), which is
// mounted into it from a volume that is filled once per engine. The engine carries
// one stream to it, and is asked for nothing else while commands run. It needs
// nothing of the image. Nothing in the container can kill or stop it, look into it or
// speak for it; who has asked for CAP_SYS_PTRACE can disturb the stream, which is
// made again, and has the container lost when that is all that happens.
//
// A command is its interpreter as docker exec would start it: a session of its own,
// an empty stdin, the directory and environment given, stdout and stderr in one pipe
// that is the command's alone, the exit code exact. A process that it leaves in the
// background lives on, and what that writes later is thrown away. At its time limit a
// command is killed with all that stems from it and nothing else: this is known by
// lineage, whatever sessions and groups were made. Several commands may run at once.
// Without room for another process, all processes but the init are ended, and
// [vocab.Output.Restarted] tells it. Commands have an oom_score_adj of 300, so that memory
// is taken back from them first.
//
// [containers.Command.Ahead] has the next bash started as soon as a command has ended, with its
// start files evaluated (BASH_ENV, with -l the profiles: conda's activation, say),
// so that both cost nobody any waiting. Each command sees what the one before has
// changed. A file that a start file reads and that a background process changes
// while the bash waits is seen by the command after. One that was killed meanwhile, or
// whose start files do what would show (trace, exit, set -e, a trap at each command),
// is replaced by a bash that is called with the script.
//
// Such a script sees these differences from bash -c: syntax errors say "eval:" for
// "-c:", set -x writes one + more, and a last command is a child of bash, where
// bash -c would have replaced itself by it (SHLVL is one more, and bash tells of the
// signal that killed it). [containers.Command.Fresh] (environment.shell: fresh) is without them.
//
// The init keeps a result until the next command, and knows commands by
// [containers.Command.ID]. When the connection breaks, the engine is restarted with live-restore,
// or this process is killed, the command runs on; who connects again gets its result.
// When nobody has for [containers.Spec.Unattended], the init ends the container.
//
// # What runs in a container and against it
//
// Process 1 can end by what runs in the container in one way: the container has used
// up its memory with what no process holds, such as files in /dev/shm. Then it is
// started again with its files, and [vocab.Output.Restarted] tells it. A container whose
// interpreter was there and is not any more is [vocab.ErrDestroyed]: its own doing, which
// another try would meet again. A container that was killed, stopped or removed
// through the engine, or died with it, is a Transient fault.
//
// # How process 1 gets in
//
// Process 1 of a container is a program of batch's own, internal/boxinit, which
// scripts/boxinit builds for the machines that engines run on: the image's
// platform does not count. It comes from a volume, which batch fills once for each
// engine and version of itself, by a container that is never started, and which
// is mounted at /dev/batch, read-only. There it is in nobody's files, with a
// read-only root as well. (Copied into each container, it would make its start
// take a quarter longer.) The volume stays for the next run;
// Init.Remove of the [Engine] removes it when no container has it. Where it was removed
// meanwhile, or who filled it was killed, a container cannot start: then it is
// filled again.
//
// # Disk
//
// [containers.Spec.Disk] limits what a container's own files take: what its commands wrote to
// the image's file system, not its volumes and /dev/shm. Where the storage driver
// has a quota for it (overlay2 on xfs with pquota, btrfs, zfs, devicemapper),
// writing beyond it fails in the container. Where it has none, one goroutine looks
// at the containers every two seconds, or less often when a look takes more than a
// tenth of that, so a command may get some way beyond the limit. It then kills all
// that runs in the one container, [vocab.Output.Disk] tells it, and a few more commands
// may make room; else the container is [vocab.ErrDestroyed], but for what its owner runs
// to save its work. A look goes through the files where they are on this
// machine, some 50 ms for 20,000 of them; the engine of another machine is asked,
// which takes it a second for each container, and counts sparse files as if they
// were full.
//
// # An engine that goes away
//
// A call that loses the engine is a Transient fault that is [ErrOutage]; it says
// nothing about the instance. From then on [Engine.Ready], and with it whatever
// starts or removes something, waits until the engine answers again, at most
// [Config.Patience]. A container whose engine was restarted without live-restore
// has died with it, which is ErrOutage too.
//
// Each call has a time limit of its own, mostly a minute, in which the engine has
// to begin its answer and then to go on with it. A call that runs into it is a
// Transient fault, and Ready waits as after a lost one: one call finds out that
// the engine hangs, and not every one. A pull may take long and ends when
// nothing new is heard of it for five minutes, or at [Config.PullTimeout].
//
// # Podman
//
// Podman's Docker-compatible socket (podman system service) serves as an engine;
// tried with 4.3, as root. What differs: the containers of
// the shared network reach one another; the engine mounts a file of its own
// into each container; a registry over plain HTTP must be named in its
// registries.conf; and where the process may not raise limits, as in some
// containers and sandboxes, its containers.conf must set default_ulimits.
//
// It is not a sandbox against hostile code: it is as tight as the engine is.
package docker
