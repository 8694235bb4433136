// Watches the first sensor with FFF0, and asks it every second how long an answer takes.

import Foundation
import SensorWatch

// Each line at once, into a pipe too.
setlinebuf(stdout)

let watch = SensorWatch()
watch.connects = true
watch.start()

// A look needs a radio that is on; ten seconds for all.
for second in 1...10 {
    DispatchQueue.main.asyncAfter(deadline: .now() + .seconds(second)) {
        if second == 1, watch.states.last == "on" { watch.look() }
        if let time = watch.answerTime { print("an answer took \(Int(time * 1000)) ms") }
        if second == 10 {
            if watch.answerTime == nil { print("no sensor with FFF0 and FFF1 has answered") }
            exit(watch.answerTime != nil && watch.problem == nil ? 0 : 1)
        }
        watch.ask()
    }
}
dispatchMain()
