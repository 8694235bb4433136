package import ByteCodec

/// Handle Value Notification. Source: Core 6.0, Vol 3, Part F, 3.4.7.1.
package struct HandleValueNotification: ATTParameters {
    package static let opcode = ATTOpcode.handleValueNotification

    package var handle: UInt16 = 0
    package var value: [UInt8] = []

    package init() {}

    package init(handle: UInt16, value: [UInt8]) {
        self.handle = handle
        self.value = value
    }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.integer("Attribute Handle", &handle)
        try coder.remainder("Attribute Value", &value)
    }
}

/// Handle Value Indication: a notification that the client confirms. Source: Core 6.0, Vol 3, Part F, 3.4.7.2.
package struct HandleValueIndication: ATTParameters {
    package static let opcode = ATTOpcode.handleValueIndication

    package var handle: UInt16 = 0
    package var value: [UInt8] = []

    package init() {}

    package init(handle: UInt16, value: [UInt8]) {
        self.handle = handle
        self.value = value
    }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.integer("Attribute Handle", &handle)
        try coder.remainder("Attribute Value", &value)
    }
}

/// Handle Value Confirmation: nothing but the opcode. Source: Core 6.0, Vol 3, Part F, 3.4.7.3.
package struct HandleValueConfirmation: ATTParameters {
    package static let opcode = ATTOpcode.handleValueConfirmation
    package init() {}
    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {}
}

/// Multiple Handle Value Notification: two or more values. Source: Core 6.0, Vol 3, Part F, 3.4.7.4.
package struct MultipleHandleValueNotification: ATTParameters {
    package static let opcode = ATTOpcode.multipleHandleValueNotification

    package var notifications: [HandleValueNotification] = []

    package init() {}
    package init(notifications: [HandleValueNotification]) { self.notifications = notifications }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.list(
            "Handle Length Value Tuple List", &notifications, blank: HandleValueNotification()
        ) { coder, notification throws(PacketError) in
            var length = UInt16(truncatingIfNeeded: notification.value.count)
            try coder.integer("Attribute Handle", &notification.handle)
            try coder.integer("Value Length", &length)
            try coder.octets("Attribute Value", &notification.value, count: Int(length))
        }
    }
}
