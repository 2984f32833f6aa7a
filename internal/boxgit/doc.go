// Package boxgit works on the git repository in a container, with scripts that need bash
// and git there. It removes everything that HEAD does not reach, compares the repository
// with its row's base_commit, takes the working tree's diff, and writes a patch that is
// not UTF-8 as text.
//
// # The history
//
// Everything that HEAD does not reach is removed, so that an agent cannot read the
// solution of its task in the history that came with an image. [Script] is bash source
// that does this to the repository around the directory it runs in, and [Read] reads what
// it printed. Afterwards the repository has only the objects that HEAD, its history and
// the index need, HEAD's branch, and the tags in that history. These are removed: other
// branches, remotes with their settings, notes, stashes, reflogs, unreachable objects,
// objects borrowed through alternates, FETCH_HEAD and similar files, bundles in the git
// directory, files among the objects that git does not read, such as a pack without its
// index, the administration of other working trees, and the state of an unfinished merge or
// rebase. Submodules are scrubbed too.
//
// Git chooses the length of abbreviated ids by the number of objects. If a scrub would
// make them shorter and core.abbrev is not set, the script sets it in the repository's
// configuration to the old length, so that diffs look the same.
//
// The working tree, the index and HEAD, detached or on a branch, do not change, and
// neither does the output of git status and git diff. A replace ref for a file or a folder
// is kept because git diff uses it; one for a commit is removed. Nothing that the
// repository or its user configured is run.
//
// If the script is given the row's base_commit, it first reports how the repository
// around the directory differs from it, whatever GIT_DIR says: [ReadBase] and
// [Base.Mismatch]. The comparison trusts neither the environment nor the repository's
// settings, replace refs or grafts. If the commit exists but is not in HEAD's history, it
// is kept, with its own history, as refs/batch/base-commit.
//
// The script does not search for copies of the solution elsewhere: in files of the
// working tree, or in repositories in other folders. Run in a linked working tree
// (git worktree), it leaves the main one without an index. It refuses a repository that
// stores its refs as reftable.
//
// The costs are: listing the objects that HEAD needs, which takes a few milliseconds in a
// small repository and seconds in one with 50,000 commits; checking the time of each file
// in the working tree; and writing one pack if something was found. [Keep] and [Known]
// list no objects.
//
// # Diffs
//
// [WorktreeDiff] and [Portable] use a separate repository that borrows the objects of the
// container's repository. Whatever an agent did to configuration, index, hooks or locks has
// no effect, and stays unchanged.
package boxgit
