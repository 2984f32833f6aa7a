// Package docker gives each instance its container, through the engine's API
// and never through the command-line client.
//
// An [Engine] is one connection to one Docker engine. It finds the engine the
// way the docker command does (DOCKER_HOST, then the context, then the default
// socket), speaks the version both sides know, and sees to images: [Engine.Ensure]
// pulls what is missing once, however many callers ask at the same time. A
// [Container] runs commands with exact bytes and exit codes, takes and gives
// files, and goes away with [Container.Remove].
//
// What a caller may rely on: a container has no network, no mounts, no engine's
// socket, no new privileges, nothing of this process's environment, few
// capabilities and a limit on processes unless the [Spec] says otherwise; a
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
// A docker exec costs the engine some 50 ms. So one bash stays in the container,
// a dispatcher on one exec, and each command becomes a child of it that was
// forked before the command came: its own process group, an empty stdin, the
// directory and environment given each time, stdout and stderr in one pipe, the
// exit code exact, nothing there of the command before. The image needs bash
// (4.2 or later) and nothing else. A process that a command leaves behind lives
// on; when it holds the output, the next command gets another dispatcher, so
// that it reads nothing of it. A command that kills its dispatcher has exit
// code 137, and no command is run twice.
//
// # What runs in a container and against it
//
// A container whose processes were all killed by what ran in it, or whose memory
// they used up, is started again with its files, however often, and
// [Result.Restarted] tells it; so is one in which they leave no room for another
// process. When no bash can be started even so, it is [ErrDestroyed]: its own
// doing, which another try would meet again. A container that was killed, stopped
// or removed through the engine, or died with it, is a Transient fault. The two are
// told apart by the engine's events, which are listened to all the time. What a
// person's signal or the want of memory of the whole machine does cannot be told from
// the container's own doing where the engine does not report it.
//
// With bash -c or bash -lc the dispatcher is that bash. What the start files do
// (BASH_ENV, and with -l the profiles: conda's activation, say) is done once and
// seen by all commands; what they print is nobody's. When one of them is
// modified (BASH_ENV, ~/.bashrc, and with -l /etc/profile, ~/.bash_profile,
// ~/.bash_login, ~/.profile), the next command gets a new dispatcher. Start files
// that leave shell options, traps, expanded aliases, disabled builtins or
// functions named builtin or exec behind suit no resident shell: then, and with
// another interpreter, and with [Command.Fresh] (environment.shell: fresh), the
// child runs the interpreter anew, as docker exec would, for about 1 ms more.
//
// In the resident shell a script sees these differences from bash -c. It is a
// subshell: $$ and $PPID are the dispatcher's, BASH_SUBSHELL is 1, $! may be set
// at its start, ${x:?} ends it with 1 and not 127, logout is refused. Syntax
// errors say "eval:" for "-c:", set -x writes one + more, and SHLVL is one more
// in a last command that bash would have replaced itself with. All processes
// have an oom_score_adj of 300, so that memory is taken back from commands first.
//
// At its time limit a command is killed with what stems from it: by descent,
// process group, session, and, where a process left all of these, by its age.
// Servers of earlier commands live on, and what these start. A daemon that such
// a server starts meanwhile, in a session of its own and without a parent, is
// taken for the command's.
//
// # Disk
//
// [Spec.Disk] limits what a container's own files take: what its commands wrote to
// the image's file system, not its volumes and /dev/shm. Where the storage driver
// has a quota for it (overlay2 on xfs with pquota, btrfs, zfs, devicemapper),
// writing beyond it fails in the container. Where it has none, one goroutine looks
// at the containers every two seconds, or less often when a look takes more than a
// tenth of that, so a command may get some way beyond the limit. It then kills all
// that runs in the one container, [Result.Disk] tells it, and a few more commands
// may make room; else the container is [ErrDestroyed], but for what its owner runs
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
// tried with 4.3, as root. It needs catatonit. What differs: a command that ran
// out of memory is told as killed (137), not as out of memory; the containers of
// the shared network reach one another; the engine mounts a file of its own and
// its init into each container; a registry over plain HTTP must be named in its
// registries.conf; and where the process may not raise limits, as in some
// containers and sandboxes, its containers.conf must set default_ulimits.
//
// It is not a sandbox against hostile code: it is as tight as the engine is.
package docker
