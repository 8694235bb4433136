# Fuzzing, for ./test --fuzz: libFuzzer, which the toolchain has, at each door of the stack.

# fuzz_one TARGET SECONDS : leaves new inputs in .cache/fuzz/TARGET, and one that was not survived beside it.
fuzz_one() {
    local target=$1 seconds=$2 folder="$root/.cache/fuzz/$1" log status=0
    mkdir -p "$folder"
    log="$scratch/fuzz-$target"
    BLE_FUZZ_TARGET=$target SWIFT_BACKTRACE=enable=no timeout $((seconds + 120)) \
        "$root/.build/fuzzing/release/fuzz" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=1024 -max_len=2048 \
        -print_final_stats=1 -artifact_prefix="$root/.cache/fuzz/$target-" "$folder" "Tests/Corpus/$target" \
        >"$log" 2>&1 || status=$?
    if [ $status -eq 0 ]; then
        say "   $target: $(grep -oE 'number_of_executed_units: [0-9]+' "$log" | grep -oE '[0-9]+') inputs survived"
        return 0
    fi
    grep -E 'ERROR|Fatal error|Test unit written|SUMMARY' "$log" >&2 || tail -n 5 "$log" >&2
    say "!! $target did not survive. Play it again: swift run fuzz $target FILE, with the file that is named above."
    say "   Mend the cause, and keep the file in Tests/Corpus/$target."
    return 1
}

# fuzz_all MINUTES : each target so long, as many at once as there are processors.
fuzz_all() {
    local seconds=$((60 * $1)) target running=0 good=0 bad=0 targets=()
    scratch_folder
    say "Building the fuzzers (from scratch it takes a few minutes) ..."
    attend 3600 "$scratch/build" swift build --scratch-path .build/fuzzing -c release --sanitize fuzzer \
        -Xswiftc -DFUZZING --product fuzz ||
        { show_build_errors "$scratch/build"; stop "The fuzzers could not be built: the lines above say where."; }
    for target in Tests/Corpus/*/; do targets+=("$(basename "$target")"); done
    say "Fuzzing ${#targets[@]} targets, $1 minutes each ..."
    for target in "${targets[@]}"; do
        if [ $running -ge "$(nproc)" ]; then
            wait -n && good=$((good + 1)) || bad=$((bad + 1))
            running=$((running - 1))
        fi
        fuzz_one "$target" "$seconds" &
        running=$((running + 1))
    done
    while [ $running -gt 0 ]; do
        wait -n && good=$((good + 1)) || bad=$((bad + 1))
        running=$((running - 1))
    done
    echo "$good passed, $bad failed"
    [ $bad -eq 0 ]
}
