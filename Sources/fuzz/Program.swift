#if !FUZZING
    import Glibc

    @main
    struct Program {
        static func main() { exit(Replay(arguments: Array(CommandLine.arguments.dropFirst())).run()) }
    }
#endif
