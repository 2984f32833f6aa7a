// Package docker gives each instance a container of its own, through the engine's API and
// never through the docker command. It finds the engine the way that command does: by
// DOCKER_HOST, then the context, then the default socket. A missing image is pulled once,
// however many instances need it.
//
// You may rely on this:
//
//   - Unless environment.network or environment.run_args say otherwise, a container has no network,
//     no directories of your machine, no engine socket, no new privileges, nothing from batch's own
//     environment, few capabilities and a limit on processes.
//   - A container that cannot be started leaves nothing behind.
//   - A command that exceeds its time limit is killed with all its children.
//   - When a container or the engine is gone, that is an error of the run, never an
//     output that the model reads.
//   - A container's own host name resolves, even without a network.
//   - A limit that the engine cannot enforce is left out, with a warning.
//   - Every container has labels that name its owner, so that batch clean can remove what a
//     killed run left behind.
//
// Root keeps the capabilities that installing and testing software needs:
// CHOWN, DAC_OVERRIDE, FOWNER and FSETID (to unpack an archive with its owners
// and modes, and to change files of other users), SETUID and SETGID (su, and package
// managers that switch to their own user), KILL (to end such a user's
// processes), NET_BIND_SERVICE (a test's server at port 80) and SYS_CHROOT
// (installers that unpack into their own directory tree). It lacks these, which engines
// give by default: MKNOD (devices), NET_RAW (forged packets on a shared
// network), SETPCAP and SETFCAP (passing on capabilities) and AUDIT_WRITE (the
// machine's log).
//
// # Commands
//
// Process 1 of a container is a small program, batch's helper (internal/boxinit). It is
// mounted from a volume that is filled once per engine. One stream through the engine
// connects batch to it; while commands run, batch makes no other calls to the engine.
// The helper needs nothing from the image. No process in the container can kill or
// stop it, inspect it or forge its messages. With CAP_SYS_PTRACE, which
// environment.run_args must ask for, a process can disturb the stream: batch connects again, and gives up the
// container if this keeps happening.
//
// A command runs in its interpreter as docker exec would start it: in its own session,
// with an empty stdin, the given directory and environment, stdout and stderr in
// one pipe that only this command has, and with an exact exit code. A process that it
// leaves in the background keeps running. As long as such a process has the pipe open, its
// output is read for a second more, for process substitutions such as
// exec > >(tee log); what it writes later is discarded. At its time limit a command is killed with
// all its descendants and nothing else. The helper knows them by lineage, whatever sessions and
// groups they created. If there are more than 100 processes and threads, as with a fork bomb, the
// other processes of the container are stopped meanwhile. Several commands may run at once. When
// there is no room for another process, all processes except the helper are killed, and the model
// reads so. Commands have an oom_score_adj of 300, so that the kernel kills them first when memory
// runs out.
//
// An MCP server in the container is a program whose stdin, stdout and stderr batch has, over
// the same stream. It delays no command: if batch does not read its output, it stops when the
// buffers in between are full (about 300 KB). It is killed with all its descendants when it
// ends, when batch stops it, when the connection breaks, and when batch was killed: as soon as
// another process of batch connects, or after two minutes.
//
// The next bash starts as soon as a command has ended, and evaluates its start files
// (BASH_ENV, and with -l the profiles, such as conda's activation), so that no command waits
// for either. Each command sees what the previous one changed. If a background process changes
// a file that a start file reads while the bash waits, only the command after the next one sees
// the change. A bash that was killed meanwhile, or whose start files do something that would be
// visible (trace, exit, set -e, a trap at each command), is replaced by a bash that is called
// with the script.
//
// Such a script sees these differences from bash -c: syntax errors say "eval:" instead of
// "-c:", set -x writes one + more, and a last command is a child of bash, where
// bash -c would have replaced itself by it (SHLVL is one more, and bash reports the
// signal that killed it). environment.shell: fresh avoids them.
//
// Each command has an id, and the helper keeps its result until the next command. When the
// connection breaks, the engine is restarted with live-restore, or batch is killed, the command
// continues, and the process of batch that connects next gets its result. When none has been
// connected for twice environment.container_timeout plus an hour, the helper ends the container.
//
// # Containers that end
//
// What runs in a container can end process 1 in one way only: by using up the container's
// memory with something no process holds, such as files in /dev/shm. Then the container
// is started again with its files, and the model reads so. A container whose
// interpreter existed and no longer does ends the attempt as EnvironmentDestroyed: its own
// commands did it, and another attempt would do it again. A container that was killed, stopped
// or removed through the engine, or that ended with the engine, is a transient fault: batch
// replaces it and resumes the attempt.
//
// # Where process 1 comes from
//
// Process 1 of a container is batch's own program, internal/boxinit, which
// scripts/boxinit builds for the machines that engines run on, whatever the image's
// platform. It comes from a volume that is mounted read-only at /dev/batch: it does not become one of the
// container's files, and it works with a read-only root. Batch fills one volume
// for each engine and version of the helper, through a container that is never started.
// (Copying the program into each container would make the start a quarter slower.) The
// volume stays for the next run; batch clean removes it when no container
// uses it. If the volume was removed meanwhile, or the process that filled it was killed, a
// container cannot start: then batch fills the volume again.
//
// # The files of an agent's program
//
// agent.program.files names a folder of this machine or an image. Its files are at
// /opt/batch-agent in each container of an attempt, {{ files }} in a template: read-only, for any
// user, also with a read-only root. They do not become files of the container, and
// environment.disk does not count them. They may be 2 GiB in 200,000 files.
//
// They are in a volume whose name is made from their content: a folder's names, modes, links and
// bytes, or the id of an image, which is pulled if the engine lacks it. Batch fills one volume for
// each engine and content. The last file of a fill says that it is whole, and each new container is
// asked for it: what a killed process has filled in part is filled again. A container with the
// volume's name, which is never started, keeps other processes from filling it meanwhile. After a
// change of the folder, the next run has a volume of its own; batch clean removes the volumes that
// no container uses. The files are written without a sync, so that after a crash of the engine's
// machine within seconds of a fill, some may be empty: remove the volume then.
//
// # Containers without a network
//
// Even for a container without a network, Docker makes a network sandbox: records that it
// syncs to its disk, a mounted namespace, and a program that it runs at the start. That is
// a third of the work of a container's life, and before Docker 23.0 it makes removals wait
// for each other. So batch asks for containers without a sandbox ("unplugged"): the runtime
// gives them a network namespace of their own that has only the loopback device. Batch
// checks that in each container before its first command. /etc/hosts and
// /etc/resolv.conf, which the sandbox provides, are written through the helper. A
// container gets a sandbox if it has a network or hosts of the user's, if its user may not
// write these files, or if the engine does not give it such a namespace.
//
// # Disk
//
// --disk (environment.disk) limits the size of a container's own files: what its commands wrote
// to the image's file system, not to its volumes or /dev/shm. Where the storage driver
// has a quota for it (overlay2 on xfs with pquota, btrfs, zfs, devicemapper),
// a write beyond the quota fails in the container. Where there is no quota, batch
// measures the containers every two seconds, or less often if measuring takes more than a
// tenth of that, so a command may exceed the limit by some amount. Then all processes of
// that container are killed, the model reads so, and a few more commands may
// free space. If they do not, the attempt ends as EnvironmentDestroyed; its work is still
// saved. Where the files are on this machine, they are
// measured directly, about 50 ms for 20,000 files. Otherwise the engine is asked,
// which takes a second for each container and counts sparse files as if they were full.
//
// While the engine itself has less space than --disk-reserve (or a tenth of its disk, if that is
// less), an output that says that the disk is full is a transient fault: no model sees it. With
// less than 64 MiB, so is a submission, and a command that fails without naming the disk. The
// container is removed, and the attempt is resumed when there is space, or on another engine. The
// space is measured with stat in a new container of the image. If a container itself took most of
// the space that was lost while it ran, and there would be enough without it, that is the agent's
// failure, and the agent reads the output. Pods are not measured.
//
// # An engine that goes away
//
// When batch loses the engine, that says nothing about an instance: it is a transient fault.
// From then on everything that starts or removes something waits until the engine answers
// again, for at most --engine-wait. A restart of the engine without live-restore ends its
// containers, which is a transient fault too.
//
// Each call has its own time limit, usually a minute, in which the engine has to begin its
// answer and then to continue it. After a call that exceeds it, all others wait as after a lost
// connection: so one call finds out that the engine hangs, not every call. A pull may take long;
// it ends when it makes no progress for five minutes, or at environment.pull_timeout.
//
// # Podman
//
// Podman's Docker-compatible socket (podman system service) works as an engine. It was tried by hand
// with 4.3; the tests of batch use Docker alone. As root it differs in these points: containers on
// the shared network can reach one another; the engine mounts one of its own files into each
// container; a registry over plain HTTP must be named in registries.conf; and where the process may
// not raise limits, as in some containers and sandboxes, containers.conf must set default_ulimits.
//
// Podman without root, which clusters have, works as well (tried on cgroup v1 and without
// systemd). The user needs lines in /etc/subuid and /etc/subgid, and the packages uidmap
// and, for a network, slirp4netns. Start its socket, and name it:
//
//	podman system service --time=0 unix:///tmp/podman-$USER.sock &
//	export DOCKER_HOST=unix:///tmp/podman-$USER.sock
//
// Agents run and are graded, commands keep their time limits, and crashed runs are cleaned up. But:
//
//   - With cgroup v1 there are no limits of memory, CPUs and processes, although Podman
//     reports that it has them: batch warns, as batch doctor does. With cgroup v2, the user needs
//     the controllers (Delegate=cpu cpuset io memory pids).
//   - The storage driver must be overlay (in storage.conf). Podman chooses vfs where it finds
//     neither overlay nor /dev/fuse: then each container is a copy of its image, and the
//     start of one took 32 seconds instead of 1.5.
//   - --network none works. --network slirp4netns needs /dev/net/tun to be writable for the user.
//     --network bridge needs a user's session of systemd: without it, creating a container
//     fails ("unable to upgrade to tcp, received 409").
//   - A resumed attempt does not reach the container of a killed run: Podman does not answer a
//     second attach. After a minute it continues by replay in a new container.
//   - Images are per user and machine: use --image-prefix with a registry, or podman load.
//
// A container is not a sandbox against hostile code: it isolates as well as the engine does.
//
// Its API is not promised to other programs: see package batch.
package docker
