# SPDX-License-Identifier: GPL-2.0-only
# guest.sh SECONDS: what tests/soak/run runs in the guest. Runs Sonde beside work that disturbs it, and prints what held.
# Times are in the guest's clock; nothing depends on how much work gets done in a second.
seconds=$1
mkdir -p small lib
mount -t tmpfs -o size=8k none small
cp "$(command -v target)" lib/prog
export LD_LIBRARY_PATH=
modprobe loop 2>/dev/null

# ---- the tracer ----
# Each process that starts has the name "soaked": it is counted by the kernel's event, printed through a slow reader, and its stack
# is kept. Keys come and go.
sonde -q -o out.txt -e '
t:sched:sched_process_exec /comm == "soaked"/ { @execs = count(); printf("exec %d\n", pid); @seen[pid] = nsecs; }
t:sched:sched_process_exit /comm == "soaked" && @seen[pid]/ { @life = hist(nsecs - @seen[pid]); delete(@seen, pid); }
t:syscalls:sys_enter_exit_group /comm == "soaked"/ { @stacks[ustack(5)] = count(); }
kprobe:loop_control_ioctl { @ioctls = count(); }
uprobe:'"$PWD"'/lib/prog:main { @mains = count(); }
profile:hz:49 /comm == "soaked"/ { @cpu[cpu] = count(); }
interval:s:5 { print(@cpu); clear(@cpu); }
' 2>err.txt &
tracer=$!
sonde -q -o small/full.txt -e 't:sched:sched_process_exec /comm == "soaked"/ { printf("%s %d %s\n", comm, pid, strftime("%H:%M:%S", nsecs)); }' 2>full.txt &
full=$!
# A reader that is slower than the events come.
mkfifo slow
while read -r line; do echo "$line"; sleep 0.01; done <slow >slow.txt &
sonde -q -e 't:sched:sched_process_exec /comm == "soaked"/ { @n = count(); printf("line %d\n", pid); }' >slow 2>slow.err &
slow=$!
sleep 5

# ---- the work ----
cp "$(command -v spin)" soaked
rss() { sed -n 's/^VmRSS:[^0-9]*\([0-9]*\).*/\1/p' /proc/$tracer/status; }
now() { cut -d. -f1 /proc/uptime; }
begin=$(now)
started=0 round=0 early=0 late=0
while [ $(($(now) - begin)) -lt "$seconds" ]; do
	round=$((round + 1))
	for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do ./soaked 1 1 >/dev/null; done
	started=$((started + 20))
	case $((round % 8)) in
	0) rmmod loop 2>/dev/null; modprobe loop 2>/dev/null ;;
	1) echo 0 >/sys/devices/system/cpu/cpu1/online 2>/dev/null ;;
	2) echo 1 >/sys/devices/system/cpu/cpu1/online 2>/dev/null ;;
	3) : >lib/prog; cp "$(command -v target)" lib/prog ;; # truncated, then another content in the same file
	4) rm lib/prog; cp "$(command -v target)" lib/prog ;; # replaced
	5) kill -STOP $tracer; ./soaked 1 1 >/dev/null; started=$((started + 1)); kill -CONT $tracer ;;
	6) losetup -f >/dev/null 2>&1 ;;
	esac
	# After the first fifth of the time, and at the end.
	[ $(($(now) - begin)) -lt $((seconds / 5)) ] || [ "$early" -ne 0 ] || early=$(rss)
	late=$(rss)
done
echo 1 >/sys/devices/system/cpu/cpu1/online 2>/dev/null

# ---- the end ----
kill -INT $full $slow $tracer
wait $tracer
status=$?
wait $full $slow
umount small
echo "# $round rounds, $started processes, RSS $early and $late KB"
if [ "${late:-0}" -gt 0 ] && [ "$late" -le $((early + early / 10 + 256)) ]; then
	echo "memory is flat"
else
	echo "not flat: RSS $early KB, then $late KB"
fi
counted=$(sed -n 's/^@execs: //p' out.txt)
if [ "$counted" = "$started" ]; then
	echo "processes: counted as many as started"
else
	echo "not all processes: $counted of $started"
fi
printed=$(grep -c '^exec ' out.txt)
lost=$(sed -n 's/.*WARNING: \([0-9]*\) events* .*lost.*/\1/p' err.txt | head -n 1)
if [ $((printed + ${lost:-0})) -eq "$started" ]; then
	echo "events: printed or reported as lost"
else
	echo "not all events: $printed printed, ${lost:-0} lost, of $started"
fi
if grep -q 'No space left' full.txt; then echo "file: a full disk was reported"; else echo "not reported: a full disk: $(head -n 3 full.txt)"; fi
echo "end: status $status"
echo "# messages of the tracer:"
sed 's/^/#   /' err.txt | head -n 30
