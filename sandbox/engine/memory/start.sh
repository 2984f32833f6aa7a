# Process 1 of a container's namespaces: builds its file system, then becomes batch's helper.
# Arguments: the size of /dev/shm, the path of the helper's directory, a directory with files and where they are
# in the container, the environment.
set -e
shm=$1 helper=$2 files=$3 place=$4
shift 4
chroot=$(type -P chroot)
env=$(type -P env)
root=$PWD/root

mount -n --make-rslave /
mount -n -t overlay -o lowerdir=image,upperdir=upper,workdir=work overlay root
cd root
mkdir -p proc sys dev tmp
mount -n -t proc proc proc
for name in sys sysrq-trigger; do
    [ -e "proc/$name" ] || continue
    mount -n --bind "proc/$name" "proc/$name"
    mount -n -o remount,bind,ro "proc/$name"
done
mount -n -t sysfs -o ro sysfs sys
mount -n -t tmpfs -o mode=755 tmpfs dev
mknod -m 666 dev/null c 1 3
mknod -m 666 dev/zero c 1 5
mknod -m 666 dev/full c 1 7
mknod -m 666 dev/random c 1 8
mknod -m 666 dev/urandom c 1 9
mknod -m 666 dev/tty c 5 0
ln -s /proc/self/fd dev/fd
ln -s /proc/self/fd/0 dev/stdin
ln -s /proc/self/fd/1 dev/stdout
ln -s /proc/self/fd/2 dev/stderr
ln -s pts/ptmx dev/ptmx
mkdir dev/shm dev/pts dev/batch
mount -n -t tmpfs -o "mode=1777,size=$shm" tmpfs dev/shm
mount -n -t devpts -o newinstance,ptmxmode=666 devpts dev/pts
mount -n --bind "$helper" dev/batch
mount -n -o remount,bind,ro dev/batch
mount -n --bind ../tmp tmp
if [ -n "$files" ]; then
    mkdir -p ".$place"
    mount -n --bind "$files" ".$place"
    mount -n -o remount,bind,ro ".$place"
fi
# An image that has the engine's own directory has the keys of all containers in it.
if [ -d "$root$helper" ]; then mount -n -t tmpfs tmpfs "$root${helper%/*}"; fi
echo sandbox >/proc/sys/kernel/hostname
if type -P ip >/dev/null; then ip link set lo up; fi
exec setpriv --no-new-privs --inh-caps=-all --ambient-caps=-all \
    --bounding-set=-all,+chown,+dac_override,+fowner,+fsetid,+kill,+net_bind_service,+setgid,+setuid,+sys_chroot \
    "$env" -i "$@" "$chroot" "$root" /dev/batch/init
