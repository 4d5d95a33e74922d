"""An application whose handlers are slow and fail, installed beside Holdfast while the door is measured."""
